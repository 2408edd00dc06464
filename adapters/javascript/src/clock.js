// The clock of a program: it shows one time, in UTC, and its random numbers follow from a seed. Called once,
// before what stands around a program, which lets the program pay for all of this.
(function (now, parseText, random) {
  "use strict";
  const top = globalThis;
  const Native = Date;
  const { apply, construct, defineProperty } = Reflect;
  const { prototype, UTC } = Native;
  const { getTime, toUTCString, getUTCFullYear, getUTCMonth, getUTCDate, getUTCHours } = prototype;
  const { setUTCFullYear } = prototype;
  const { slice } = String.prototype;
  const Text = String;
  const put = (object, key, value) =>
    defineProperty(object, key, { value, writable: true, configurable: true });

  // Local time is UTC.
  for (const part of ["FullYear", "Month", "Date", "Day", "Hours", "Minutes", "Seconds", "Milliseconds"]) {
    for (const [to, from] of [["get" + part, "getUTC" + part], ["set" + part, "setUTC" + part]]) {
      const inner = prototype[from];
      if (inner === undefined) continue;
      put(prototype, to, { [to](...given) { return apply(inner, this, given); } }[to]);
    }
  }
  put(prototype, "getYear", { getYear() { return apply(getUTCFullYear, this, []) - 1900; } }.getYear);
  put(prototype, "setYear", { setYear(year) {
    const number = +year;
    return apply(setUTCFullYear, this, [number >= 0 && number < 100 ? number + 1900 : number]);
  } }.setYear);
  put(prototype, "getTimezoneOffset", { getTimezoneOffset() {
    return apply(getTime, this, []) * 0;
  } }.getTimezoneOffset);

  // `Thu, 26 Nov 2026 06:00:00 GMT` has all that the others show.
  const part = (text, from, to) => apply(slice, text, [from, to]);
  const day = (text) =>
    part(text, 0, 3) + " " + part(text, 8, 11) + " " + part(text, 5, 7) + " " + part(text, 12, -13);
  const time = (text) => part(text, -12, -4) + " GMT+0000 (Coordinated Universal Time)";
  const shown = (date, form) => {
    const text = apply(toUTCString, date, []);
    return text === "Invalid Date" ? text : form(text, date);
  };
  const whole = (text) => day(text) + " " + time(text);
  for (const [key, form] of [["toString", whole], ["toDateString", day], ["toTimeString", time]]) {
    put(prototype, key, { [key]() { return shown(this, form); } }[key]);
  }
  const localDay = (text, date) => apply(getUTCMonth, date, []) + 1 + "/" + apply(getUTCDate, date, [])
    + "/" + apply(getUTCFullYear, date, []);
  const localTime = (text, date) => {
    const hour = apply(getUTCHours, date, []);
    return (hour % 12 || 12) + part(text, -10, -4) + (hour < 12 ? " AM" : " PM");
  };
  const localWhole = (text, date) => localDay(text, date) + ", " + localTime(text, date);
  for (const [key, form] of [["toLocaleString", localWhole], ["toLocaleDateString", localDay],
    ["toLocaleTimeString", localTime]]) {
    put(prototype, key, { [key](locale, options) {
      if (options !== undefined || locale !== undefined && locale !== "en-US" && locale !== "en") {
        throw new TypeError(key + " has no locales and no options here: make the text from toISOString(), "
          + "getFullYear() and the like");
      }
      return shown(this, form);
    } }[key]);
  }

  const primitive = (value) => {
    const turn = value[Symbol.toPrimitive];
    if (turn !== undefined && turn !== null) return apply(turn, value, ["default"]);
    const plain = value.valueOf();
    return typeof plain === "object" || typeof plain === "function" ? Text(value) : plain;
  };
  const timeOf = (value) => {
    let plain = value;
    if (typeof value === "object" && value !== null || typeof value === "function") {
      try {
        return apply(getTime, value, []);
      } catch {
        plain = primitive(value);
      }
    }
    return typeof plain === "string" ? parseText(plain) : +plain;
  };
  const Clock = function Date(...given) {
    if (new.target === undefined) return shown(construct(Native, [now]), whole);
    let ms = now;
    if (given.length === 1) ms = timeOf(given[0]);
    if (given.length > 1) ms = apply(UTC, undefined, given);
    return construct(Native, [ms], new.target === Clock ? Native : new.target);
  };
  defineProperty(Clock, "prototype", { value: prototype, writable: false });
  defineProperty(Clock, "length", { value: 7 });
  put(Clock, "UTC", UTC);
  put(Clock, "now", { now() { return now; } }.now);
  put(Clock, "parse", { parse(text) { return parseText(Text(text)); } }.parse);
  put(prototype, "constructor", Clock);
  put(top, "Date", Clock);
  put(Math, "random", { random() { return random(); } }.random);
})
