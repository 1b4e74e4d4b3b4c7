"""Prints the figures for all numbers of hubs as a Markdown table."""

ROWS = [
  ("memory of a hub: its share of all; its own alone", "{memory:.1f} MB; {own:.1f} MB"),
  ("threads of a hub", "{threads}"),
  ("an idle hub sends a minute; with headers; the one that sends most", "{sent:.1f}; {sent_with_headers:.0f}; {worst_sent:.0f} bytes"),
  ("to join, both ways; with headers", "{join:.0f}; {join_with_headers:.0f} bytes"),
  ("both ways with headers; wake-ups a minute", "{both:.0f} bytes; {woken:.1f}"),
  ("broker: memory; processor a minute, all idle", "{broker_memory:.1f} MB; {broker_idle:.0f} ms"),
  ("broker restarted at once: all back after", "{restart:.1f} s"),
  ("... in the worst second: begun; taken", "{restart_tries}; {restart_knocks}"),
  ("... processor of its first minute", "{restart_worked:.2f} s"),
  ("broker away for 20 s: all back after", "{absence:.1f} s"),
  ("... in the worst second: begun; taken", "{absence_tries}; {absence_knocks}"),
  ("... processor of its first minute", "{absence_worked:.2f} s"),
  ("a tenth cut off for a minute: all back after", "{cut:.1f} s"),
  ("values to who watched; twice; missing", "{values}; {twice}; {missing}"),
]


def lines(results):
  yield "| hubs | " + " | ".join(str(result["hubs"]) for result in results) + " |"
  yield "|---" * (len(results) + 1) + "|"
  for title, form in ROWS:
    known = [{name: float("nan") if value is None else value for name, value in result.items()} for result in results]
    yield f"| {title} | " + " | ".join(form.format(**result) for result in known) + " |"
