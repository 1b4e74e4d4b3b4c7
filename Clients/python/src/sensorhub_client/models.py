"""What a hub says, as immutable dataclasses.

What is unknown is ``None``. Keys that this version does not know, those of a newer hub for instance, are kept in ``extra``
under their own names. Angles are in degrees, ages and durations in seconds, everything else is in SI units unless its
description says otherwise. Attitudes turn the axes of the body (x forward, y right, z down) to north, east, down.
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
    """An object whose keys are data, and which may be left out."""
    return field(default_factory=dict, metadata={"key": name} if name else {})


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Record:
    """Anything that a hub says."""

    extra: Mapping[str, Any] = field(default_factory=lambda: _NOTHING, compare=False)
    """Members that this version of the package does not know."""

    def __repr__(self) -> str:
        """Without what is unknown."""
        known = ((one.name, getattr(self, one.name)) for one in fields(self))
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in known if value or value == 0)})"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Part(Record):
    """A part of a state: what was measured, when, and by which device."""

    age: float
    """Seconds since it was measured, at the instant of the state."""
    source: str
    """The devices that had a share in it: ``gps``, ``gps+imu``."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Vector(Part):
    """A vector in the axes of the body: x forward, y right, z down. The state's member says in which unit."""

    x: float
    y: float
    z: float


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Position(Part):
    """Where the board is, in WGS 84."""

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
        """Metres: 95 of 100 positions this certain are within this radius of the truth."""
        return None if self.sigma_horizontal is None else 2.4477 * self.sigma_horizontal

    def distance_to(self, other: Position) -> float:
        """Metres along the ground to another position, on a sphere: right to half a percent."""
        north, north_other = math.radians(self.latitude), math.radians(other.latitude)
        half_north = math.sin((north_other - north) / 2)
        half_east = math.sin(math.radians(other.longitude - self.longitude) / 2)
        square = half_north**2 + math.cos(north) * math.cos(north_other) * half_east**2
        return 2 * 6_371_008.8 * math.asin(math.sqrt(min(1.0, square)))


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Velocity(Part):
    """How the board moves."""

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
    """How the board is turned against north, east, down."""

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
    """What a barometer measures."""

    pressure: float
    """Pascals."""
    temperature: float
    """Degrees Celsius of the chip, which is warmer than the air."""
    humidity: float | None = _optional()
    """Percent, relative."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Supply(Part):
    """What a supply monitor measures."""

    volts: float
    """Volts against ground."""
    amperes: float
    """Amperes to the load."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Fix(Part):
    """What the receiver says about its fix."""

    mode: int
    """As gpsd counts: 1 no fix, 2 two dimensions, 3 three dimensions."""
    status: int
    """As gpsd counts."""
    time: datetime | None = _optional()
    """UTC of the fix itself."""
    satellites: int | None = _optional()
    """How many satellites the fix uses."""
    hdop: float | None = _optional()
    """Horizontal dilution of precision, without a unit."""
    time_sigma: float | None = _optional("timeSigma")
    """Seconds, one standard deviation of the receiver's time."""
    correction_age: float | None = _optional("correctionAge")
    """Seconds: how old the corrections are that the fix uses."""
    jamming: str | None = _optional()
    """``none``, ``warning`` or ``critical``."""
    spoofing: str | None = _optional()
    """``none``, ``indicated`` or ``multiple``."""
    jamming_indicator: int | None = _optional("jammingIndicator")
    """0 to 255, continuous waves."""
    receiver_fusion: str | None = _optional("receiverFusion")
    """What the receiver does with inertial sensors of its own: ``initializing``, ``fusing``, ``suspended``, ``disabled``."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Wish(Record):
    """What an energy budget leaves of a wish for fixes."""

    every: float
    """Seconds from one fix to the next."""
    accuracy: float | None = _optional()
    """Metres, the radius that 95 of 100 fixes keep."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Schedule(Record):
    """How well a fix fulfils the wish for it (``Hub.fixes``)."""

    met: bool
    """The fix is as good as the wish; otherwise time ran out."""
    still: bool
    """Nothing has moved since the position was measured, and the hub gives the same position again."""
    late: float
    """Seconds after the time when the fix was due."""
    every: float
    """Seconds from one fix to the next, as wished."""
    within: float
    """Seconds that the receiver may be awake for one fix, as wished."""
    radius: float | None = _optional()
    """Metres: 95 of 100 such positions are within this radius."""
    accuracy: float | None = _optional()
    """Metres, as wished."""
    max_age: float | None = _optional("maxAge")
    """Seconds: a fix that is at most this old is good enough, as wished."""
    known: bool | None = _optional()
    """``True`` for a fix that another client has caused, within ``max_age``; the receiver was not woken for it."""
    reckoned: bool | None = _optional()
    """``True`` for a position from dead reckoning, which is still within the wished error."""
    relaxed: Wish | None = _optional()
    """What the receiver's energy budget leaves of the wish; ``None`` if it leaves all of it."""
    viewer: str | None = _optional()
    """Whose wish it is, where several share a stream."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Pulse(Record):
    """The receiver's pulse per second, while a client asks for the time."""

    state: str
    """``missing``, ``present`` or ``unsteady``."""
    age: float
    """Seconds since it was last seen."""
    jitter: float | None = _optional()
    """Seconds between the last two pulses, less a second."""
    quantisation_error: float | None = _optional("quantisationError")
    """Seconds, as the receiver states it."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Refusal(Record):
    """Fixes are not believed, because the inertial sensors contradict them."""

    seconds: float
    """How long that has lasted."""
    metres: float
    """How far off the fixes are."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class State(Record):
    """The fused state at one instant."""

    mode: str
    """``none``, ``attitude``, ``gnss``, ``fused``, ``deadReckoning`` or ``asleep``: how position and attitude came about."""
    monotonic: float
    """Seconds of the board's monotonic clock."""
    time: datetime | None = _optional()
    """UTC of the same instant."""
    time_confirmed: bool | None = _optional("timeConfirmed")
    """The receiver has shown that it knows the date, rather than remembers or guesses it."""
    dead_reckoning_seconds: float | None = _optional("deadReckoningSeconds")
    """Seconds since the last fix, in the mode ``deadReckoning``."""
    asleep_seconds: float | None = _optional("asleepSeconds")
    """Seconds since the last client left, in the mode ``asleep``; the position is the last one known."""
    schedule: Schedule | None = _optional()
    """Of a fix that was wished for (``Hub.fixes``). Without a ``position`` none was found in time."""
    position: Position | None = _optional()
    """Where the board is."""
    velocity: Velocity | None = _optional()
    """How it moves."""
    attitude: Attitude | None = _optional()
    """How it is turned."""
    rates: Vector | None = _optional()
    """Radians a second about the axes of the body."""
    acceleration: Vector | None = _optional()
    """Metres a second squared, gravity included."""
    magnetic_field: Vector | None = _optional("magneticField")
    """Microtesla, as far as the field is the earth's."""
    air: Air | None = _optional()
    """What the barometer measures."""
    supply: Supply | None = _optional()
    """What the supply monitor measures."""
    fix: Fix | None = _optional()
    """What the receiver says about its fix."""
    pulse: Pulse | None = _optional()
    """The receiver's pulse; in ``Hub.last_state`` alone."""
    refusal: Refusal | None = _optional()
    """Set only while fixes are not believed."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Bill(Record):
    """Energy that one client has caused."""

    payer: str
    """The client; ``(linger)``, ``(standby)`` and ``(others)`` are no client's."""
    milliwatt_hours: float = _key("milliwattHours")
    """Milliwatt-hours."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Bills(Record):
    """Energy by client."""

    run: tuple[Bill, ...] = _many()
    """Since the hub started."""
    day: tuple[Bill, ...] = _many()
    """In the last day, over restarts of the hub."""
    week: tuple[Bill, ...] = _many()
    """In the last week, over restarts of the hub."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Budget(Record):
    """What a device may draw in a day."""

    milliwatt_hours_per_day: float = _key("milliwattHoursPerDay")
    """Milliwatt-hours a day."""
    left_milliwatt_hours: float = _key("leftMilliwattHours")
    """Milliwatt-hours; below 0 if too much was drawn."""
    steps: int
    """How many steps the board file names to save energy."""
    steps_taken: int = _key("stepsTaken")
    """How many of them are in force."""
    every_seconds: float | None = _optional("everySeconds")
    """Fixes come no closer than this at present."""
    accuracy_metres: float | None = _optional("accuracyMetres")
    """Fixes this accurate will do at present."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Restart(Record):
    """What starts of one kind take."""

    seconds: float
    """Until the device measures."""
    joules: float
    """Energy of one start."""
    count: int
    """How many starts were seen."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class IdleTimeout(Record):
    """How long a device runs on after its last client."""

    is_learned: bool = _key("isLearned")
    """The hub chooses it by what it has learned."""
    seconds: float
    """How long it would run on now."""
    gaps: int
    """How many gaps between clients were seen."""
    break_even_seconds: float | None = _optional("breakEvenSeconds")
    """How long the device may stay on for the energy of one start."""
    restarts: Mapping[str, Restart] = _table()
    """By kind: ``hot``, ``warm``, ``cold``."""
    explanation: tuple[str, ...] = _many()
    """For people."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class RelaxedSchedule(Record):
    """What an energy budget leaves of a client's wish."""

    every_seconds: float = _key("everySeconds")
    """Seconds from one fix to the next."""
    accuracy_metres: float | None = _optional("accuracyMetres")
    """Metres, the radius that 95 of 100 fixes keep."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class DeviceSchedule(Record):
    """A client for whom the hub wakes the device now and then."""

    holder: str
    """The client."""
    every_seconds: float = _key("everySeconds")
    """Seconds from one fix to the next."""
    within_seconds: float = _key("withinSeconds")
    """Seconds that the device may be awake for one fix."""
    due_in_seconds: float = _key("dueInSeconds")
    """Seconds until the next fix; below 0 while the device looks for it late."""
    reason: str
    """Why the hub wakes it then, for people."""
    accuracy_metres: float | None = _optional("accuracyMetres")
    """Metres, the radius that 95 of 100 fixes keep."""
    relaxed: RelaxedSchedule | None = _optional()
    """What the energy budget leaves of the wish; ``None`` if it leaves all of it."""
    wakes_in_seconds: float | None = _optional("wakesInSeconds")
    """Seconds until the hub wakes the device for it; ``None`` if it is awake, or need not be."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class CorrectionOutcomes(Record):
    """What the receiver did with the corrections that it read."""

    used: int
    unused: int
    unknown: int
    """It does not say whether it used them."""
    damaged: int
    """Their checksums were wrong."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Corrections(Record):
    """What a receiver gets from a caster (NTRIP)."""

    source: str
    """``ntrip://host:port/MOUNT``."""
    phase: str
    """``off``, ``connecting``, ``connected``, ``receiving`` or ``waiting``."""
    bytes: int
    lost: int
    """Messages that the receiver's line was too slow for."""
    connections: int
    messages: Mapping[str, int] = _table()
    """How many, by RTCM 3's numbers."""
    reason: str | None = _optional()
    """Why there are none, for people."""
    age_seconds: float | None = _optional("ageSeconds")
    """Seconds since the last message."""
    receiver: CorrectionOutcomes | None = _optional()
    """``None`` for a receiver that says nothing about them."""
    base_distance_metres: float | None = _optional("baseDistanceMetres")
    """To the base station; ``None`` until it has said where it is."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Calibration(Record):
    """A calibration that is in force."""

    age_seconds: float = _key("ageSeconds")
    """Seconds since it was made."""
    quality: float
    """By kind of calibration, as ``sensorhub calibrate`` prints it."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Condition(Record):
    """What is the matter with a device, or with the hub's board file."""

    kind: str
    """``failed``, ``acquiring``, ``supply`` or ``remark``."""
    severity: str
    """``waiting`` (it takes its time), ``warning`` (look after it) or ``problem`` (it does not work)."""
    summary: str
    """What is the matter, for people."""
    for_seconds: float = _key("forSeconds")
    """For how long; of a failure, since the first try that failed."""
    next_step: str | None = _optional("nextStep")
    """What to do about it, for people."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Device(Record):
    """What a device does, why, for whom, and what it has drawn."""

    id: str
    """Its name in the board file."""
    kind: str
    """``receiver``, ``imu``, ``magnetometer``, ``barometer`` or ``supplyMonitor``."""
    title: str
    """For people."""
    power: str
    """``off``, ``asleep``, ``awake``, ``settling``, ``acquiring``, ``tracking``, ``lingering`` or ``failed``."""
    for_seconds: float = _key("forSeconds")
    """Seconds since the power is in this state."""
    reason: str
    """Why it is so, for people."""
    holders: tuple[str, ...]
    """Who keeps the device awake."""
    on_seconds: float = _key("onSeconds")
    """Seconds that it was on since the hub started."""
    wakes: int
    """How often it was switched on since the hub started."""
    energy_milliwatt_hours: float = _key("energyMilliwattHours")
    """Milliwatt-hours since the hub started, measured or by the current that the board file states."""
    measured_milliwatt_hours: float = _key("measuredMilliwattHours")
    """How much of that a supply monitor measured."""
    milliwatts: float
    """What it draws at present."""
    bills: Bills
    """Who caused what it drew."""
    counters: Mapping[str, int] = _table()
    """By name: sentences, checksum errors and so on."""
    lingers_for_seconds: float | None = _optional("lingersForSeconds")
    """How much longer it runs on after its last client; ``None`` unless it does."""
    remark: str | None = _optional()
    """What its owner should know."""
    conditions: tuple[Condition, ...] = _many()
    """What is the matter, the worst first; empty if nothing is."""
    origin: str | None = _optional()
    """``simulated`` or ``recorded``; ``None`` for a real device."""
    budget: Budget | None = _optional()
    """``None`` if the board file sets none."""
    idle_timeout: IdleTimeout | None = _optional("linger")
    """How long it runs on after its last client."""
    schedules: tuple[DeviceSchedule, ...] = _many()
    """For whom the hub wakes it now and then."""
    time_to_first_fix_seconds: float | None = _optional("timeToFirstFixSeconds")
    """Seconds that the last start took to its first fix."""
    calibrations: Mapping[str, Calibration] = _table()
    """Those in force, by kind: ``gyro`` and others."""
    corrections: Corrections | None = _optional()
    """``None`` if the board file names no caster."""

    @property
    def is_awake(self) -> bool:
        """Whether it is supplied and not in its sleep mode."""
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
    """UTC by the receiver."""
    age: float | None = _optional()
    """Seconds since then."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Fence(Record):
    """On which side of a fence the board is."""

    name: str
    """Its name in the board file."""
    state: str
    """``inside``, ``outside`` or ``unknown``."""
    seconds: float
    """Seconds since it is so."""
    event: str | None = _optional()
    """What made it so: ``enter``, ``leave``, ``found`` (known at last, no crossing) or ``lost`` (no fix says where the board is)."""
    beyond: float | None = _optional()
    """Metres that the last fix lies beyond the edge; negative inside."""
    position: FencePosition | None = _optional()
    """That fix."""
    due: float | None = _optional()
    """Seconds until the next fix is due; negative once it is late. In ``Hub.fences`` alone, like what follows."""
    unknown_in: float | None = _optional("unknownIn")
    """Seconds until the state is unknown if no fix comes."""
    circle: tuple[float, ...] | None = _optional()
    """Latitude, longitude (degrees) and radius (metres)."""
    polygon: tuple[tuple[float, ...], ...] | None = _optional()
    """Its corners, latitude and longitude in degrees."""
    added: bool | None = _optional()
    """It was added while the hub ran; ``None`` for a fence of the board file."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class HoldTicket(Record):
    """The hub's word for a hold that this client has taken."""

    id: str
    """Knowing it is the right to prolong and to release the hold."""
    device: str
    """The device that it keeps awake."""
    seconds: float
    """How much longer."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class HeldDevice(Record):
    """A hold that some client has taken."""

    device: str
    """The device that it keeps awake."""
    holder: str
    """Who has taken it."""
    seconds: float
    """How much longer it lasts."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class PowerChange(Record):
    """A change of a device's power that was recorded."""

    id: str
    """The device."""
    power: str
    """As in ``Device.power``, or ``unknown`` after the end of a recording."""
    time: datetime
    """UTC."""
    reason: str | None = _optional()
    """Why, for people."""
    holders: tuple[str, ...] = _many()
    """Who kept it awake then."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class RecordingFile(Record):
    """A file of the recorder."""

    name: str
    """Under ``/recordings`` of the web port."""
    bytes: int
    writing: bool
    """The hub is still writing it."""
    start: datetime | None = _optional("from")
    """UTC of its first message."""
    end: datetime | None = _optional("to")
    """UTC of its last message."""
