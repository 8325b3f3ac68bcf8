// From values to places, and which values an axis names.

// Round numbers from 0 up to at least `most`.
function evenTicks(most, about, whole) {
  const raw = Math.max(most, 1e-9) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  let step = [1, 2, 2.5, 5, 10].map((times) => times * power).find((candidate) => candidate >= raw * 0.999);
  if (whole) step = Math.max(1, Math.ceil(step));
  const ticks = [];
  for (let tick = 0; ; tick += step) {
    ticks.push(Number(tick.toPrecision(12)));
    if (tick >= most) return ticks;
  }
}

// Powers of ten, and 2 and 5 times those where there is room.
function logTicks(least, most, about) {
  const first = Math.floor(Math.log10(least)), last = Math.ceil(Math.log10(most));
  const within = Math.floor(Math.log10(most)) - Math.ceil(Math.log10(least)) + 1;
  const steps = within <= about / 3 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(within / (about + 1)));
  const ticks = [];
  for (let power = first; power <= last; power++) {
    if (power % every !== 0) continue;
    for (const step of steps) {
      const tick = step * 10 ** power;
      if (tick >= least * 0.999 && tick <= most * 1.001) ticks.push(tick);
    }
  }
  return ticks;
}

function timeTicks(most, about) {
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400];
  const step = steps.find((candidate) => most / candidate <= about) || 86400 * Math.ceil(most / 86400 / about);
  const ticks = [];
  for (let tick = 0; tick <= most; tick += step) ticks.push(tick);
  return ticks;
}

// Maps [least, most] to [from, to]. A logarithmic axis has no 0: what is below its beginning is at its beginning.
function scale(least, most, from, to, log) {
  const of = log ? (value) => Math.log10(Math.max(value, least)) : (value) => value;
  const [low, high] = [of(least), of(most)];
  return (value) => from + ((of(value) - low) / (high - low || 1)) * (to - from);
}

// Numbers rounded to tenths of a pixel keep paths short.
const px = (value) => Math.round(value * 10) / 10;
