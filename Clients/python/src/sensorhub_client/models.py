"""The objects that a hub sends, as immutable dataclasses.

An unknown value is ``None``. Keys that this version does not know, for example those of a newer hub, are in ``extra`` under
their own names. Angles are in degrees, ages and durations in seconds, and all other values in SI units, unless a member's
description says otherwise. An attitude rotates the axes of the body (x forward, y right, z down) to north, east, down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

_NOTHING: Mapping[str, Any] = {}


def _key(name: str) -> Any:
    """A required member that has another name in JSON."""
    return field(metadata={"key": name})


def _optional(name: str | None = None) -> Any:
    """A member that may be left out."""
    return field(default=None, metadata={"key": name} if name else {})


def _many(name: str | None = None) -> Any:
    """A list that may be left out."""
    return field(default=(), metadata={"key": name} if name else {})


def _table(name: str | None = None) -> Any:
    """An object with arbitrary keys, which may be left out."""
    return field(default_factory=dict, metadata={"key": name} if name else {})


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Record:
    """An object that a hub sends."""

    extra: Mapping[str, Any] = field(default_factory=lambda: _NOTHING, compare=False)
    """Members that this version of the package does not know."""

    def __repr__(self) -> str:
        """The members that are known."""
        known = ((one.name, getattr(self, one.name)) for one in fields(self))
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in known if value or value == 0)})"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Part(Record):
    """A part of a state: what was measured, when, and by which device."""

    age: float
    """Seconds between the measurement and the instant of the state."""
    source: str
    """The devices that contributed, such as ``gps`` or ``gps+imu``."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Vector(Part):
    """A vector in the axes of the body: x forward, y right, z down. The unit depends on the member of the state."""

    x: float
    y: float
    z: float


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Position(Part):
    """The position of the board, in WGS 84."""

    latitude: float = _key("lat")
    """Degrees, north is positive."""
    longitude: float = _key("lon")
    """Degrees, east is positive."""
    altitude_hae: float | None = _optional("altHAE")
    """Metres above the ellipsoid."""
    altitude_msl: float | None = _optional("altMSL")
    """Metres above mean sea level."""
    sigma_horizontal: float | None = _optional("sigmaHorizontal")
    """Metres, one standard deviation along one horizontal axis."""
    sigma_vertical: float | None = _optional("sigmaVertical")
    """Metres, one standard deviation of the altitude."""

    @property
    def radius_95(self) -> float | None:
        """The radius in metres that contains 95 % of positions with this sigma."""
        return None if self.sigma_horizontal is None else 2.4477 * self.sigma_horizontal

    def distance_to(self, other: Position) -> float:
        """The distance to another position along the ground, in metres. Computed on a sphere, so it is accurate to 0.5 %."""
        north, north_other = math.radians(self.latitude), math.radians(other.latitude)
        half_north = math.sin((north_other - north) / 2)
        half_east = math.sin(math.radians(other.longitude - self.longitude) / 2)
        square = half_north**2 + math.cos(north) * math.cos(north_other) * half_east**2
        return 2 * 6_371_008.8 * math.asin(math.sqrt(min(1.0, square)))


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Velocity(Part):
    """The velocity of the board."""

    speed: float
    """Metres a second over ground."""
    track: float | None = _optional()
    """Degrees clockwise from true north."""
    climb: float | None = _optional()
    """Metres a second upwards."""
    sigma_horizontal: float | None = _optional("sigmaHorizontal")
    """Metres a second, one standard deviation along one horizontal axis."""
    sigma_vertical: float | None = _optional("sigmaVertical")
    """Metres a second, one standard deviation of the climb."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Attitude(Part):
    """The rotation from the body's axes to north, east, down."""

    roll: float
    """Degrees, positive with the right side down."""
    pitch: float
    """Degrees, positive with the nose up."""
    sigma_inclination: float = _key("sigmaInclination")
    """Degrees, one standard deviation of roll and pitch."""
    quaternion: tuple[float, ...] = _key("q")
    """w, x, y, z."""
    yaw: float | None = _optional()
    """Degrees clockwise from true north: the heading. ``None`` while it is unknown."""
    sigma_yaw: float | None = _optional("sigmaYaw")
    """Degrees, one standard deviation of the yaw."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Air(Part):
    """The measurements of a barometer."""

    pressure: float
    """Pascals."""
    temperature: float
    """The temperature of the chip in degrees Celsius; the chip is a little warmer than the air."""
    humidity: float | None = _optional()
    """The relative humidity in percent."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Supply(Part):
    """The measurements of a supply monitor."""

    volts: float
    """The voltage against ground."""
    amperes: float
    """The current in amperes, positive to the load."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Fix(Part):
    """The receiver's own report of its fix."""

    mode: int
    """The number that gpsd uses: 0 unknown, 1 no fix, 2 two dimensions, 3 three dimensions."""
    status: int
    """The number that gpsd uses: 1 autonomous, 2 differential, 3 RTK fixed, 4 RTK float and others; 0 without a fix."""
    time: datetime | None = _optional()
    """The time of the fix itself, UTC."""
    satellites: int | None = _optional()
    """The number of satellites in use."""
    hdop: float | None = _optional()
    """Horizontal dilution of precision, without a unit."""
    time_sigma: float | None = _optional("timeSigma")
    """Seconds, one standard deviation of the receiver's time."""
    correction_age: float | None = _optional("correctionAge")
    """The age in seconds of the corrections in use."""
    jamming: str | None = _optional()
    """``none``, ``warning`` or ``critical``."""
    spoofing: str | None = _optional()
    """``none``, ``indicated`` or ``multiple``."""
    jamming_indicator: int | None = _optional("jammingIndicator")
    """The continuous-wave interference, 0 for none to 255."""
    receiver_fusion: str | None = _optional("receiverFusion")
    """The state of a receiver's own fusion with inertial sensors: ``initializing``, ``fusing``, ``suspended``, ``disabled``."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class AllowedRequest(Record):
    """The request for fixes as an energy budget allows it."""

    every: float
    """Seconds from one fix to the next."""
    accuracy: float | None = _optional()
    """The radius in metres that contains 95 % of the fixes."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Schedule(Record):
    """Whether, and how well, a fix meets its request (``Hub.fixes``)."""

    met: bool
    """Whether the fix is as accurate as requested. If not, the time ran out."""
    still: bool
    """Whether nothing has moved since the position was measured. The hub then sends the same position again."""
    late: float
    """Seconds between the due time and the fix."""
    every: float
    """The requested interval in seconds."""
    within: float
    """How many seconds the receiver may be awake for one fix, as requested."""
    radius: float | None = _optional()
    """The radius in metres that contains 95 % of such positions."""
    accuracy: float | None = _optional()
    """The requested accuracy in metres."""
    max_age: float | None = _optional("maxAge")
    """The requested age in seconds: a fix that is at most this old is enough."""
    known: bool | None = _optional()
    """``True`` for a fix of another client that is recent enough for ``max_age``; the receiver was not woken for it."""
    reckoned: bool | None = _optional()
    """``True`` for a position from dead reckoning that is still within the requested error."""
    pause: float | None = _optional()
    """Seconds until the receiver searches for a position again, because there is no reception; ``None`` otherwise."""
    relaxed: AllowedRequest | None = _optional()
    """The request as the receiver's energy budget allows it; ``None`` if the budget allows all of it."""
    viewer: str | None = _optional()
    """The viewer that made the request, if several viewers share a stream."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Pulse(Record):
    """The receiver's pulse per second. Known while a client asks for the time."""

    state: str
    """``missing``, ``present`` or ``unsteady``."""
    age: float
    """Seconds since the last pulse was examined."""
    jitter: float | None = _optional()
    """The difference between the last two pulses, in seconds."""
    quantisation_error: float | None = _optional("quantisationError")
    """The error of the last pulse in seconds, as the receiver states it."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Refusal(Record):
    """Fixes are refused, because the inertial sensors contradict them."""

    seconds: float
    """Seconds since the first refused fix."""
    metres: float
    """The distance in metres between the refused fixes and the solution."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class State(Record):
    """The fused state at one instant."""

    mode: str
    """How the state was made: ``none``, ``attitude``, ``gnss``, ``fused``, ``deadReckoning`` or ``asleep``."""
    monotonic: float
    """The instant of the state in seconds, by the board's monotonic clock."""
    time: datetime | None = _optional()
    """The same instant in UTC."""
    time_confirmed: bool | None = _optional("timeConfirmed")
    """Whether the date is confirmed. Otherwise the receiver may have remembered or guessed it."""
    dead_reckoning_seconds: float | None = _optional("deadReckoningSeconds")
    """Seconds since the last fix was used, in the mode ``deadReckoning``."""
    asleep_seconds: float | None = _optional("asleepSeconds")
    """Seconds since the last client left, in the mode ``asleep``; the position is the last known one."""
    schedule: Schedule | None = _optional()
    """Present in the answer to a request for fixes (``Hub.fixes``). Without a ``position``, no fix was found in time."""
    position: Position | None = _optional()
    """The position."""
    velocity: Velocity | None = _optional()
    """The velocity."""
    attitude: Attitude | None = _optional()
    """The attitude."""
    rates: Vector | None = _optional()
    """Angular rates about the body's axes, in radians per second."""
    acceleration: Vector | None = _optional()
    """Specific force along the body's axes, in metres per second squared. At rest and level, z is -9.8."""
    magnetic_field: Vector | None = _optional("magneticField")
    """Magnetic field along the body's axes in microtesla, without the calibrated field of the iron nearby."""
    air: Air | None = _optional()
    """The measurements of the barometer."""
    supply: Supply | None = _optional()
    """The measurements of the supply monitor."""
    fix: Fix | None = _optional()
    """The receiver's report of its fix."""
    pulse: Pulse | None = _optional()
    """The receiver's pulse; only in ``Hub.last_state``."""
    refusal: Refusal | None = _optional()
    """Present only while fixes are refused."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Bill(Record):
    """The energy that one client has caused."""

    payer: str
    """The client; ``(linger)``, ``(standby)`` and ``(others)`` stand for no client."""
    milliwatt_hours: float = _key("milliwattHours")
    """Milliwatt-hours."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Bills(Record):
    """The energy for each client."""

    run: tuple[Bill, ...] = _many()
    """Since the hub started."""
    day: tuple[Bill, ...] = _many()
    """In the last day, across restarts of the hub."""
    week: tuple[Bill, ...] = _many()
    """In the last week, across restarts of the hub."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Budget(Record):
    """The energy budget of a device."""

    milliwatt_hours_per_day: float = _key("milliwattHoursPerDay")
    """Milliwatt-hours a day."""
    left_milliwatt_hours: float = _key("leftMilliwattHours")
    """The energy left in milliwatt-hours; negative if too much was used."""
    steps: int
    """The number of steps in ``whenShort`` of the board file."""
    steps_taken: int = _key("stepsTaken")
    """The number of these steps that are taken now."""
    every_seconds: float | None = _optional("everySeconds")
    """The shortest interval of scheduled fixes at present, in seconds."""
    accuracy_metres: float | None = _optional("accuracyMetres")
    """The accuracy in metres that is enough at present."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Restart(Record):
    """The learned cost of starts of one kind."""

    seconds: float
    """Seconds until the device measures."""
    joules: float
    """The energy of one start."""
    count: int
    """The number of observed starts."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class IdleTimeout(Record):
    """The idle timeout: how long a device stays on after its last client has left."""

    is_learned: bool = _key("isLearned")
    """Whether the hub learns the timeout (``linger`` in the board file)."""
    seconds: float
    """The timeout in seconds, if the last client left now."""
    gaps: int
    """The number of observed gaps between visits of clients."""
    break_even_seconds: float | None = _optional("breakEvenSeconds")
    """How many seconds the device can stay on before it uses more energy than a start."""
    restarts: Mapping[str, Restart] = _table()
    """The cost of starts by kind: ``hot``, ``warm``, ``cold``."""
    explanation: tuple[str, ...] = _many()
    """How the timeout was chosen, as lines of text to show."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class RelaxedSchedule(Record):
    """The request of a client as an energy budget allows it."""

    every_seconds: float = _key("everySeconds")
    """Seconds from one fix to the next."""
    accuracy_metres: float | None = _optional("accuracyMetres")
    """The radius in metres that contains 95 % of the fixes."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class DeviceSchedule(Record):
    """The request of a client for which the hub wakes the device at intervals."""

    holder: str
    """The client."""
    every_seconds: float = _key("everySeconds")
    """Seconds from one fix to the next."""
    within_seconds: float = _key("withinSeconds")
    """How many seconds the device may be awake for one fix."""
    due_in_seconds: float = _key("dueInSeconds")
    """Seconds until the next fix is due; negative while it is late."""
    reason: str
    """Why the hub wakes the device at this time, as a text to show."""
    accuracy_metres: float | None = _optional("accuracyMetres")
    """The radius in metres that contains 95 % of the fixes."""
    relaxed: RelaxedSchedule | None = _optional()
    """The request as the energy budget allows it; ``None`` if the budget allows all of it."""
    wakes_in_seconds: float | None = _optional("wakesInSeconds")
    """Seconds until the hub wakes the device for the fix; ``None`` if the device is awake, or need not wake."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class CorrectionOutcomes(Record):
    """The counts of corrections that the receiver has read, by result."""

    used: int
    unused: int
    unknown: int
    """Messages for which the receiver does not report whether it used them."""
    damaged: int
    """Messages with a wrong checksum."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Corrections(Record):
    """The corrections that a receiver gets from a caster (NTRIP)."""

    source: str
    """``ntrip://host:port/MOUNT``, or ``ntrips://`` with TLS."""
    phase: str
    """``off``, ``connecting``, ``connected``, ``receiving`` or ``waiting``."""
    bytes: int
    lost: int
    """Messages dropped because the receiver's line is too slow."""
    connections: int
    messages: Mapping[str, int] = _table()
    """The number of messages, by RTCM 3 message number."""
    reason: str | None = _optional()
    """Why no corrections arrive, as a text to show."""
    age_seconds: float | None = _optional("ageSeconds")
    """Seconds since the last message."""
    receiver: CorrectionOutcomes | None = _optional()
    """``None`` for a receiver that does not report what it did with the corrections."""
    base_distance_metres: float | None = _optional("baseDistanceMetres")
    """The distance to the base station; ``None`` until its position is known."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Calibration(Record):
    """A calibration in use."""

    age_seconds: float = _key("ageSeconds")
    """Seconds since the calibration."""
    quality: float
    """The quality that ``sensorhub calibrate`` prints; its meaning depends on the kind of calibration."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Condition(Record):
    """A problem of a device, or of the hub's board file."""

    kind: str
    """``failed``, ``acquiring``, ``supply`` or ``remark``."""
    severity: str
    """``waiting`` (normal and temporary), ``warning`` (needs attention) or ``problem`` (does not work)."""
    summary: str
    """The problem, as a text to show."""
    for_seconds: float = _key("forSeconds")
    """Seconds since the problem began; for a failure, since the first failed attempt."""
    next_step: str | None = _optional("nextStep")
    """What to do, as a text to show."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Device(Record):
    """A device: its power with the reason, the clients that hold it, and its energy."""

    id: str
    """The name of the device in the board file."""
    kind: str
    """``receiver``, ``imu``, ``magnetometer``, ``barometer`` or ``supplyMonitor``."""
    title: str
    """A short description, as a text to show."""
    power: str
    """``off``, ``asleep``, ``awake``, ``settling``, ``acquiring``, ``tracking``, ``lingering`` or ``failed``."""
    for_seconds: float = _key("forSeconds")
    """Seconds since this power state began."""
    reason: str
    """Why the device is in this power state, as a text to show."""
    holders: tuple[str, ...]
    """The clients that keep the device awake."""
    holder_ids: tuple[str, ...] = _many("holderIds")
    """The identities of ``holders``, in the same order; empty from an older hub."""
    on_seconds: float = _key("onSeconds")
    """Seconds that clients needed the device since the hub started."""
    wakes: int
    """How often the device was woken since the hub started; an attempt to wake a missing device does not count."""
    energy_milliwatt_hours: float = _key("energyMilliwattHours")
    """Milliwatt-hours since the hub started, measured or computed from the current in the board file."""
    measured_milliwatt_hours: float = _key("measuredMilliwattHours")
    """The part of this energy that a supply monitor measured."""
    milliwatts: float
    """The present power of the device."""
    bills: Bills
    """The energy for each client."""
    counters: Mapping[str, int] = _table()
    """Counts of received data by name: sentences, checksum errors and others."""
    lingers_for_seconds: float | None = _optional("lingersForSeconds")
    """Seconds until the idle timeout ends; ``None`` unless the device lingers."""
    remark: str | None = _optional()
    """A warning about the device, as a text to show."""
    conditions: tuple[Condition, ...] = _many()
    """The problems of the device, the worst first; may be empty."""
    origin: str | None = _optional()
    """``simulated`` or ``recorded``; ``None`` for a real device."""
    budget: Budget | None = _optional()
    """``None`` if the board file sets no budget."""
    idle_timeout: IdleTimeout | None = _optional("linger")
    """The idle timeout after the last client."""
    schedules: tuple[DeviceSchedule, ...] = _many()
    """The requests for which the hub wakes the device at intervals."""
    time_to_first_fix_seconds: float | None = _optional("timeToFirstFixSeconds")
    """Seconds from power on to the first useful measurement, in the last run that had one."""
    calibrations: Mapping[str, Calibration] = _table()
    """The calibrations in use, by kind: ``gyro`` and others."""
    corrections: Corrections | None = _optional()
    """``None`` if the board file names no caster."""

    @property
    def is_awake(self) -> bool:
        """Whether the device is supplied and not in its sleep mode."""
        return self.power not in ("off", "asleep", "failed")


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class FencePosition(Record):
    """The last fix that said on which side of a fence the board is."""

    latitude: float | None = _optional("lat")
    """Degrees, north is positive."""
    longitude: float | None = _optional("lon")
    """Degrees, east is positive."""
    sigma_horizontal: float | None = _optional("sigmaHorizontal")
    """Metres, one standard deviation along one horizontal axis."""
    time: datetime | None = _optional()
    """The time of the fix in UTC, by the receiver."""
    age: float | None = _optional()
    """Seconds since the fix."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Fence(Record):
    """A fence, and the side of it that the board is on."""

    name: str
    """The name of the fence."""
    state: str
    """``inside``, ``outside`` or ``unknown``."""
    seconds: float
    """Seconds since the state began."""
    event: str | None = _optional()
    """The event that began the state: ``enter``, ``leave``, ``found`` (known again, no crossing) or ``lost`` (no fix)."""
    beyond: float | None = _optional()
    """Metres from the edge to the last useful fix, outward; negative inside."""
    position: FencePosition | None = _optional()
    """The last useful fix."""
    due: float | None = _optional()
    """Seconds until the next fix is due; negative while it is late. Only in ``Hub.fences``, like the following members."""
    unknown_in: float | None = _optional("unknownIn")
    """Seconds until the state becomes ``unknown`` without a fix."""
    circle: tuple[float, ...] | None = _optional()
    """Latitude, longitude (degrees) and radius (metres)."""
    polygon: tuple[tuple[float, ...], ...] | None = _optional()
    """The corners, as latitude and longitude in degrees."""
    added: bool | None = _optional()
    """``True`` if the fence was added while the hub ran; ``None`` for a fence of the board file."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class HoldTicket(Record):
    """The hub's answer about a hold that this client has taken."""

    id: str
    """A secret: a client that knows it can prolong and release the hold."""
    device: str
    """The device that the hold keeps awake."""
    seconds: float
    """The remaining seconds."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class HeldDevice(Record):
    """A hold of any client."""

    device: str
    """The device that the hold keeps awake."""
    holder: str
    """The client that has taken the hold."""
    holder_id: str | None = _optional("holderId")
    """Its identity among the ``holder_ids`` of the device; ``None`` from an older hub."""
    seconds: float
    """The remaining seconds."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class PowerChange(Record):
    """A recorded change of a device's power."""

    id: str
    """The device."""
    power: str
    """As in ``Device.power``, or ``unknown`` after the end of a recording."""
    time: datetime
    """The time of the change, UTC."""
    reason: str | None = _optional()
    """The reason, as a text to show."""
    holders: tuple[str, ...] = _many()
    """The clients that kept the device awake at this time."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class RecordingFile(Record):
    """A file of the recorder."""

    name: str
    """The name below ``/recordings`` of the web port."""
    bytes: int
    writing: bool
    """Whether the hub is still writing the file."""
    start: datetime | None = _optional("from")
    """The time of the first message, UTC."""
    end: datetime | None = _optional("to")
    """The time of the last message, UTC."""
