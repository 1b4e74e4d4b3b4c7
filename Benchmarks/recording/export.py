"""Checks whether other programs find as many points in a track as the hub has written."""

import json, os, re, subprocess
from bench import Lacking


def output_of(*command):
  done = subprocess.run(command, capture_output=True, text=True)
  if done.returncode != 0:
    raise ValueError(f"{command[0]} says {(done.stderr or done.stdout).strip()[:300]}")
  return done.stdout


def positions(geometry):
  """The number of positions in a GeoJSON geometry."""
  def count(coordinates):
    return 1 if isinstance(coordinates[0], (int, float)) else sum(map(count, coordinates))
  if geometry["type"] == "GeometryCollection":
    return sum(map(positions, geometry["geometries"]))
  return count(geometry["coordinates"])


def in_geojson(text):
  value = json.loads(text)
  features = value["features"] if value["type"] == "FeatureCollection" else [value]
  return sum(positions(feature["geometry"]) for feature in features)


def by_ogr(path, layer):
  """The number of positions in the lines of a file, as GDAL reads them. QGIS uses GDAL too."""
  return in_geojson(output_of("ogr2ogr", "-f", "GeoJSON", "/vsistdout/", path, *([layer] if layer else [])))


def by_gpsbabel(path):
  return len(output_of("gpsbabel", "-t", "-i", "gpx", "-f", path, "-o", "unicsv", "-F", "-").splitlines()) - 1


def is_valid(*schema, by="well-formed"):
  def check(path):
    output_of("xmllint", "--noout", "--nonet", *schema, path)
    return by
  return check


def measure(bench, seconds):
  hub = bench.hub("exporting", None).start()
  recording = bench.path("track.mcap")
  bench.run("record", "--for", f"{seconds}s", "--output", recording, "--socket", hub.socket)
  hub.stop()
  files, own = {}, {}
  for form, pattern in (("gpx", "<trkpt "), ("kml", "<gx:coord>"), ("geojson", None)):
    files[form] = bench.path("track." + form)
    bench.run("export", recording, "--format", form, "--output", files[form])
    with open(files[form]) as file:
      text = file.read()
    own[form] = len(re.findall(pattern, text)) if pattern else in_geojson(text)
  bench.expect(
    len(set(own.values())) == 1 and own["gpx"] > 0,
    f"{seconds} s have " + ", ".join(f"{count} points as {form}" for form, count in own.items()))
  schema = os.environ.get("GPX_SCHEMA")
  checks = [
    ("gpsbabel", "gpsbabel", "gpx", by_gpsbabel),
    ("xmllint", "libxml2-utils", "gpx", is_valid()), ("xmllint", "libxml2-utils", "kml", is_valid()),
    ("ogr2ogr", "gdal-bin", "gpx", lambda path: by_ogr(path, "tracks")),
    ("ogr2ogr", "gdal-bin", "kml", lambda path: by_ogr(path, None)),
    ("ogr2ogr", "gdal-bin", "geojson", lambda path: by_ogr(path, None))]
  if schema:
    checks.append(("xmllint", "libxml2-utils", "gpx", is_valid("--schema", schema, by="valid")))
  else:
    bench.say("left out: GPX_SCHEMA names no schema of GPX 1.1")
  for program, package, form, check in checks:
    try:
      bench.need(program, package)
      found = check(files[form])
      bench.expect(isinstance(found, str) or found == own[form], f"{program} reads {form}: {found}")
    except Lacking as lacking:
      bench.say(f"left out: {lacking}")
    except ValueError as error:
      bench.expect(False, f"{program} does not read {form}: {error}")
