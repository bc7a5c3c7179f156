const ns = 1, second = 1e9, minute = 60 * second, hour = 60 * minute, day = 24 * hour;

const round = (d, unit) => Math.round(d / unit) * unit;

// figures rounds to three digits.
function figures(d) {
  let unit = 1;
  while (Math.floor(d / unit) >= 1000) unit *= 10;
  return round(d, unit);
}

// plain formats a time below a minute in one unit.
function plain(d) {
  const [unit, name] = d < 1e3 ? [ns, "ns"] : d < 1e6 ? [1e3, "µs"] : d < second ? [1e6, "ms"] : [second, "s"];
  return `${Number((d / unit).toPrecision(12))}${name}`;
}

const part = (n, unit) => (n ? `${n}${unit}` : "");

// time formats a number of seconds as package axis does: a test compares them.
export function time(seconds) {
  if (seconds < 0) return `-${time(-seconds)}`;
  let d = Math.round(seconds * 1e9);
  if (d === 0) return "0";
  if (d < second) return plain(figures(d));
  if (d >= 100 * 365 * day) return `${Math.floor(d / (365 * day))}y`;
  if (d >= day) {
    d = round(d, hour);
    return part(Math.floor(d / day), "d") + part(Math.floor((d % day) / hour), "h");
  }
  if (d >= hour) {
    d = round(d, minute);
    return d === day ? "1d" : part(Math.floor(d / hour), "h") + part(Math.floor((d % hour) / minute), "m");
  }
  if (d >= minute) {
    d = round(d, second / 10);
    if (d === hour) return "1h";
    return part(Math.floor(d / minute), "m") + (d % minute ? plain(d % minute) : "");
  }
  d = figures(d);
  return d === minute ? "1m" : plain(d);
}
