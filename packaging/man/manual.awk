# Turns a page of argument-parser's tool into a page that Debian and mandoc accept: with the name sensorhub-run, each sentence on
# a line of its own, a section of examples, the exit codes, and a section SEE ALSO. `name` is the name of the page, sensorhub-run.

BEGIN {
  count = split(ENVIRON["VALUES"], lines, "\n")
  for (i = 1; i <= count; i++) {
    fields = split(lines[i], parts, "\t")
    for (j = 2; j <= fields; j++) values[parts[1]] = values[parts[1]] (j > 2 ? " " : "") parts[j]
  }
}

function flush_paragraph(  text) {
  text = paragraph
  paragraph = ""
  if (text == "") return
  if (wants_break) print ".Pp"
  wants_break = 0
  say_sentences(text)
}

# Prints each sentence on a line of its own.
function say_sentences(text) {
  gsub(/[ \t]+/, " ", text)
  while (match(text, /[A-Za-z0-9)][.:;] [A-Z]/)) {
    say(substr(text, 1, RSTART + 1))
    text = substr(text, RSTART + 3)
  }
  say(text)
}

# Prints lines of at most 80 bytes, none of which looks like a request of mdoc.
function say(text,  at) {
  while (length(text) > 78) {
    at = 78
    while (at > 1 && substr(text, at, 1) != " ") at--
    if (at == 1) break
    line(substr(text, 1, at - 1))
    text = substr(text, at + 1)
  }
  line(text)
}

function line(text) { print (text ~ /^['.]/ ? "\\&" : "") text }

# "Example: sensorhub run", and below it, "What for: sensorhub watch --once"
function is_example(text) { return text ~ /^Example: / || (in_examples && text ~ /^[A-Z][^.]*: sensorhub /) }

function end_page() {
  flush_paragraph()
  print ".Sh EXIT STATUS"
  print ".Bl -tag -width 6n -compact"
  print ".It 0\nsuccess"
  print ".It 64\na wrong option"
  print ".It 65\na board file or other input is wrong"
  print ".It 66\na file or device does not exist"
  print ".It 69\nthe hub does not run, or a device does not answer"
  print ".It 74\ninput or output failed"
  print ".It 77\npermission is missing"
  print ".El"
  if (example_count) print ".Sh EXAMPLES"
  for (i = 1; i <= example_count; i++) {
    at = index(examples[i], ": ")
    what = substr(examples[i], 1, at - 1)
    if (what != "Example") print what ":"
    print ".Dl " literal(substr(examples[i], at + 2))
  }
  print ".Sh SEE ALSO"
  print ".Xr sensorhub 1 ,\n.Xr sensorhub-board 5"
}

# Ends the text of an option, and adds its values.
function end_option() {
  flush_paragraph()
  held = 0
  if (option in values) say_sentences(values[option])
  option = ""
}

# Escapes a text as the argument of a macro, so that mdoc takes no word of it for a macro.
function literal(text,  words, count, i, result) {
  gsub(/\\/, "\\e", text)
  gsub(/"/, "\\(dq", text)
  count = split(text, words, " ")
  result = ""
  for (i = 1; i <= count; i++)
    result = result (i > 1 ? " " : "") (words[i] ~ /^([A-Z][a-z]|[|.,;:()])$/ ? "\\&" : "") words[i]
  return result
}

/^\.Dt / { print ".Dt " toupper(name) " 1"; next }
/^\.Sh NAME/ { print; print ".Nm " name; next }
/^\.Sh SYNOPSIS/ { print; print ".Nm sensorhub " substr(name, 11); in_synopsis = 1; next }
/^\.Nm/ { next }
/^\.Nd / {
  text = substr($0, 5)
  gsub(/^"|"$/, "", text)
  # The first sentence belongs to the section NAME. The rest begins the description.
  at = match(text, /[.] [A-Z]/)
  rest = at ? substr(text, at + 2) : ""
  if (at) text = substr(text, 1, at - 1)
  sub(/\.$/, "", text)
  print ".Nd " tolower(substr(text, 1, 1)) substr(text, 2)
  next
}
/^\.Sh DESCRIPTION/ {
  in_synopsis = 0
  in_description = 1
  print
  if (rest != "") { say(rest); wants_break = 1; has_text = 1 }
  next
}
# The options begin, so the description ends.
/^\.Bl -tag/ && in_description {
  flush_paragraph()
  if (columns) print ".Ed"
  if (has_text) print ".Pp"
  print "The options are:"
  columns = wants_break = in_description = 0
  print
  next
}
/^\.Sh "?EXIT STATUS/ { end_page(); exit }
in_description && /^$/ {
  flush_paragraph()
  if (columns) print ".Ed"
  columns = in_examples = 0
  wants_break = has_text
  next
}
in_description && is_example($0) { flush_paragraph(); in_examples = 1; examples[++example_count] = $0; next }
# Columns stay as they are.
in_description && /[^ ]  +[^ ]/ {
  flush_paragraph()
  if (!columns) print ".Bd -literal"
  columns = 1
  has_text = 1
  line($0)
  next
}
in_description { paragraph = paragraph (paragraph == "" ? "" : " ") $0; has_text = 1; next }
/^\.Pp$/ { held = 1; next }
/^\.It / {
  end_option()
  # "-format" of ".It Fl -format Ar format", "kind" of ".It Ar kind"
  option = $3
  sub(/^-/, "", option)
  sub(/\.\.\.$/, "", option)
  print
  next
}
/^\.El/ { end_option(); print; next }
/^\./ || in_synopsis { flush_paragraph(); held = 0; print; next }
/^$/ { next }
{ if (held) { flush_paragraph(); print ".Pp" } held = 0; paragraph = $0; flush_paragraph() }
