// What each figure draws. All of them are made of the page's data; `run` is one of its runs.

const DATA = JSON.parse(document.getElementById("data").textContent);

// A name, its key in the data, its colour, and what else tells it from the others.
const PERCENTILES = [
  ["p50", "p50", "p0", "none"], ["p90", "p90", "p1", "none"], ["p99", "p99", "p2", "none"], ["p99.9", "p999", "p3", "7 3"], ["max", "max", "p4", "1 4"],
];

// Lines of different runs differ in more than their colours.
const DASHES = ["none", "7 4", "2 4", "9 3 2 3", "12 4", "4 2", "1 3", "9 3 2 3 2 3"];

// Kinds of errors that have a colour of their own.
const KINDS = 7;

const zip = (xs, ys) => xs.map((x, index) => [x, ys[index]]);

function timeAxis(length) {
  const most = Math.max(length, 1);
  return { name: "time", least: 0, most, ticks: (about) => timeTicks(most, about), show: (at) => shortClock(at, most), title: clock };
}

// What all figures over the time of one run have in common.
function overTime(run, y, series, more = {}) {
  const bands = run.faults.map((fault) => ({
    from: fault.begun, until: fault.until, text: `${fault.label}: ${fault.text}`,
    label: more.told && fault.until > fault.begun ? `${fault.label}, ${(fault.until - fault.begun).toFixed(1)} s` : fault.label,
    ink: fault.recovered === false ? "lost" : "",
  }));
  return {
    x: timeAxis(run.length), y, series, bands, rows: run.time.slot, near: 0,
    shades: [[0, run.from, "warm-up"], [run.until, run.length, "end"]], ...more,
  };
}

const series = (name, ink, run, values, more = {}) => ({ name, ink, points: zip(run.time.at, values), ...more });

// The greatest value and where it is, in words, for those who do not see it.
function greatest(run, values, show) {
  let best = -1;
  values.forEach((value, index) => { if (value !== null && (best < 0 || value > values[best])) best = index; });
  return best < 0 ? "" : `at most ${show(values[best])}, at ${clock(run.time.at[best])}`;
}

function latency(run) {
  const lines = PERCENTILES.map(([name, key, ink, dash]) => series(name, ink, run, run.time[key], { dash }));
  return overTime(run, { log: true, show: micros }, lines.reverse(), {
    // This one is wide enough to tell how long each took.
    told: true,
    summary: `p99 was ${greatest(run, run.time.p99, micros)}.`, empty: "No request ended well.",
  });
}

function throughput(run) {
  const { time } = run;
  const lines = [
    series("ended well", "s2", run, time.succeeded, { style: "area" }),
    series("begun", "s0", run, time.started, { dash: "6 4" }),
    series("failed", "s7", run, time.failed, { dash: "2 3" }),
  ];
  if (time.dropped.some((value) => value > 0)) lines.push(series("given up", "s4", run, time.dropped, { dash: "9 3 2 3" }));
  return overTime(run, { show: perSecond }, lines, { summary: `Ended well: ${greatest(run, time.succeeded, perSecond)}.` });
}

function errors(run) {
  const total = (values) => values.reduce((sum, value) => sum + value, 0);
  const kinds = Object.entries(run.time.errors).filter(([, values]) => total(values) > 0);
  kinds.sort(([, a], [, b]) => total(b) - total(a));
  const rate = (values) => values.map((value) => value / run.time.slot);
  const inks = ["s7", "s1", "s4", "s3", "s5", "s0", "s2"];
  const stacks = kinds.slice(0, KINDS).map(([name, values], index) => series(name, inks[index], run, rate(values), { style: "stack" }));
  if (kinds.length > KINDS) {
    const rest = run.time.at.map((_, index) => total(kinds.slice(KINDS).map(([, values]) => values[index])));
    stacks.push(series(`${kinds.length - KINDS} other kinds`, "s6", run, rate(rest), { style: "stack" }));
  }
  return overTime(run, { show: perSecond }, stacks, {
    stacked: true, empty: "No request failed.", summary: kinds.map(([name, values]) => `${name}: ${group(total(values))}`).join(", "),
  });
}

function open(run) {
  const lines = [series("sessions", "s5", run, run.time.sessions, { style: "area" })];
  if (run.time.streams.some((value) => value > 0)) lines.push(series("streams", "s1", run, run.time.streams, { dash: "6 4" }));
  return overTime(run, { show: digits, whole: true }, lines, { summary: `Sessions: ${greatest(run, run.time.sessions, group)}.` });
}

const single = (key, name, ink) => (run) =>
  overTime(run, { show: perSecond }, [series(name, ink, run, run.time[key], { style: "area" })], { summary: greatest(run, run.time[key], perSecond) });

// === How long requests took ===

function operation(run, name) {
  return run.operations.find((operation) => operation.name === name) || (name ? null : run.operations[0]);
}

function histogram(run, chosen) {
  const of = operation(run, chosen.operation);
  const bars = of ? of.bars : [];
  const marks = of && of.count ? [["p50", 0.5], ["p99", 0.99], ["p99.9", 0.999]].map(([label, share]) => ({ at: exceeded(of.latency, share), label })) : [];
  return {
    x: latencyAxis(bars), y: { log: true, least: 0.7, show: digits, whole: true }, marks,
    series: [{ name: "requests", ink: "s0", bars, show: (value) => `${group(value)} of ${group(of.count)}` }],
    summary: marks.map((mark) => `${mark.label}: ${micros(mark.at)}`).join(", "), empty: "None of these ended well.",
  };
}

function latencyAxis(bars) {
  const least = Math.min(...bars.map((bar) => bar[0]), Infinity), most = Math.max(...bars.map((bar) => bar[1]), -Infinity);
  const known = least < most;
  const [from, to] = known ? [Math.max(least, 0.5), most] : [1, 10];
  return {
    name: "latency", log: true, least: from, most: to, ticks: (about) => logTicks(from, to, about), show: micros,
    title: (at) => {
      const bar = bars.find((other) => other[0] <= at && at < other[1]);
      return bar ? `${micros(bar[0])} to ${micros(bar[1])}` : micros(at);
    },
  };
}

// The first latency of a curve that so many do not exceed.
function exceeded(curve, share) {
  return (curve.find((point) => point[0] >= share - 1e-9) || curve[curve.length - 1])[1];
}

function curve(points, count) {
  return points.map(([share, latency]) => [share >= 1 ? Math.max(count, 1.0001) : 1 / (1 - share), Math.max(latency, 1)]);
}

function rankAxis(most) {
  const end = Math.max(most, 10);
  const ticks = () => [1, 2, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9].filter((tick) => tick <= end);
  return {
    name: "percentile", log: true, least: 1, most: end, ticks, show: (at) => (at <= 1 ? "" : rank(at)),
    title: (at) => (at >= most ? "max" : at <= 1 ? "min" : rank(at)),
  };
}

function percentiles(run, chosen) {
  const of = operation(run, chosen.operation);
  const count = of ? of.count : 0;
  const lines = of ? [
    { name: "from when it was due", ink: "s0", points: curve(of.latency, count) },
    { name: "from when it was sent", ink: "s1", dash: "6 4", points: curve(of.service, count) },
  ] : [];
  return { x: rankAxis(count), y: { log: true, show: micros }, series: lines, near: 8, empty: "None of these ended well." };
}

// === Several runs ===

const inkOf = (index) => `s${index % 8}`;
const longest = () => Math.max(...DATA.runs.map((run) => run.length));

function overTimeOfAll(y, values) {
  const bands = DATA.runs.flatMap((run, row) => run.faults.map((fault) => ({
    from: fault.begun, until: fault.until, ink: inkOf(row), row, text: `${run.name}: ${fault.label}, ${fault.text}`,
    // The same faults at the same times need one label.
    label: DATA.runs.slice(0, row).some((other) => other.faults.some((same) => same.label === fault.label && Math.abs(same.begun - fault.begun) < 2)) ? "" : fault.label,
  })));
  const lines = DATA.runs.map((run, index) => series(run.name, inkOf(index), run, values(run), { dash: DASHES[index % 8] }));
  const slot = Math.max(...DATA.runs.map((run) => run.time.slot));
  return {
    x: timeAxis(longest()), y, series: lines, bands, rows: slot, near: 12, shades: [[0, Math.min(...DATA.runs.map((run) => run.from)), "warm-up"]],
    summary: DATA.runs.map((run) => `${run.name}: ${greatest(run, values(run), y.show)}`).join("; "),
  };
}

function allLatency(_, chosen) {
  const key = (PERCENTILES.find(([name]) => name === chosen.percentile) || PERCENTILES[2])[1];
  return overTimeOfAll({ log: true, show: micros }, (run) => run.time[key]);
}

function allPercentiles(_, chosen) {
  const all = DATA.runs.map((run) => operation(run, chosen.operation));
  const most = Math.max(...all.map((of) => (of ? of.count : 0)));
  const lines = DATA.runs.map((run, index) => ({
    name: run.name, ink: inkOf(index), dash: DASHES[index % 8], points: all[index] ? curve(all[index].latency, all[index].count) : [],
  }));
  return { x: rankAxis(most), y: { log: true, show: micros }, series: lines, near: 8, empty: "None of these ended well." };
}

// Bars of different runs are not equally wide, so that their heights are shares of what is in a tenth of a factor of ten.
function allHistogram(_, chosen) {
  const lines = DATA.runs.map((run, index) => {
    const of = operation(run, chosen.operation);
    const bars = of ? of.bars.map(([from, to, count]) => [from, to, count / of.count / Math.log10(to / from) / 10]) : [];
    return { name: run.name, ink: inkOf(index), dash: DASHES[index % 8], style: "steps", bars };
  });
  const axis = latencyAxis(lines.flatMap((line) => line.bars));
  const least = Math.min(...lines.flatMap((line) => line.bars.map((bar) => bar[2])).filter((share) => share > 0), 1);
  return { x: { ...axis, title: micros }, y: { log: true, least: least / 1.5, show: percent }, series: lines, empty: "None of these ended well." };
}

const FIGURES = {
  latency, throughput, errors, open, histogram, percentiles,
  events: single("events", "events", "s3"),
  moved: single("moved", "moved", "s4"),
  "all-latency": allLatency,
  "all-throughput": () => overTimeOfAll({ show: perSecond }, (run) => run.time.succeeded),
  "all-failed": () => overTimeOfAll({ show: perSecond }, (run) => run.time.failed),
  "all-percentiles": allPercentiles,
  "all-histogram": allHistogram,
};
