// A figure: axes, lines, bars, marks of faults, and a cursor that is moved by pointer or arrow keys.

const LANE = 15;

// A figure. `specify` says what is drawn:
//   x: {least, most, log, ticks(about), show, title(value)}, y: {least, most, log, show, whole}
//   series: [{name, ink, points: [[x, y|null]] | bars: [[from, to, y]], style, dash, show}], stacked, rows (one per point)
//   bands: [{from, until, ink, label, text, row}], shades: [[from, until]], marks: [{at, label}]
class Plot {
  constructor(figure, specify) {
    Object.assign(this, { figure, specify, off: new Set() });
    this.legend = make("div", { class: "legend" });
    this.canvas = make("div", { class: "canvas", tabindex: "0", role: "group" });
    this.tip = make("div", { class: "tip", role: "status", hidden: "" });
    this.table = make("details", {}, make("summary", {}, "As a table"));
    figure.append(this.legend, this.canvas, this.table);
    this.title = figure.querySelector("h3").textContent;
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.leave());
    this.canvas.addEventListener("blur", () => this.leave());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.table.addEventListener("toggle", () => this.tabulate());
  }

  draw(width = this.figure.clientWidth) {
    // What is hidden has no width, and is drawn when it is shown.
    if (width <= 0) return;
    const style = getComputedStyle(this.figure);
    this.width = width - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    this.spec = this.specify();
    this.shown = this.spec.series.filter((series) => !this.off.has(series.name));
    this.drawLegend();
    Object.assign(this, { at: null, svg: null, cursor: null });
    this.canvas.replaceChildren();
    if (!this.spec.series.some((series) => series.bars ? series.bars.length : series.points.some((point) => point[1] !== null))) {
      this.canvas.removeAttribute("tabindex");
      this.canvas.append(make("p", { class: "empty" }, this.spec.empty || "Nothing was counted."));
      this.table.hidden = true;
      return;
    }
    this.canvas.setAttribute("tabindex", "0");
    this.canvas.setAttribute("aria-label", `${this.title}: left and right arrow keys read the values`);
    this.table.hidden = false;
    this.lay();
    this.svg = make("svg:svg", {
      class: "plot", role: "img", "aria-label": `${this.title}. ${this.spec.summary || ""}`,
      viewBox: `0 0 ${this.width} ${this.height}`, width: this.width, height: this.height,
    });
    this.drawBack();
    this.drawAxes();
    this.drawSeries();
    this.drawMarks();
    this.cursor = make("svg:g");
    this.svg.append(this.cursor);
    this.tip.hidden = true;
    this.canvas.append(this.svg, this.tip);
    this.tabulate();
  }

  drawLegend() {
    const alone = this.spec.series.length < 2;
    this.legend.hidden = alone;
    this.legend.replaceChildren(...(alone ? [] : this.spec.series.map((series) => {
      const sample = make("svg:svg", { viewBox: "0 0 22 10", "aria-hidden": "true", class: series.ink });
      const block = series.style !== "steps" && (series.bars || series.style === "stack");
      sample.append(block ? make("svg:rect", { class: "block", x: 4, width: 14, height: 10, rx: 2 })
        : make("svg:path", { class: "line", d: "M1 5H21", "stroke-dasharray": series.dash || "none" }));
      const button = make("button", { type: "button", "aria-pressed": String(!this.off.has(series.name)) }, sample, series.name);
      button.addEventListener("click", () => {
        if (!this.off.delete(series.name)) this.off.add(series.name);
        this.draw();
        // The buttons are new ones.
        this.legend.children[this.spec.series.findIndex((other) => other.name === series.name)]?.focus();
      });
      return button;
    })));
  }

  // Margins, and scales from the data.
  lay() {
    const { x, y } = this.spec;
    this.placed = this.place();
    // Labels are above the plot: of faults, or in two rows of marks.
    const rows = Math.max(this.placed.lanes, Math.min(2, (this.spec.marks || []).length));
    const top = 10 + rows * LANE;
    const about = this.width > 700 ? 6 : 5;
    this.height = (this.width > 700 ? 300 : 230) + rows * LANE;
    const values = this.shown.flatMap((series) => series.bars ? series.bars.map((bar) => bar[2])
      : series.points.map((point) => point[1])).filter((value) => value !== null && (!y.log || value > 0));
    let [least, most] = [Infinity, -Infinity];
    for (const value of values) { least = Math.min(least, value); most = Math.max(most, value); }
    if (this.spec.stacked) most = Math.max(...this.sums());
    if (!(most > 0)) [least, most] = [y.log ? 1 : 0, y.log ? 10 : 1];
    if (y.log) {
      least = y.least || 10 ** (Math.log10(least) - 0.08);
      most = 10 ** (Math.log10(Math.max(most, least * 2)) + 0.08);
      this.ticks = logTicks(least, most, about);
    } else {
      this.ticks = evenTicks(most * 1.04, about, y.whole);
      least = 0;
      most = this.ticks[this.ticks.length - 1];
    }
    const widest = Math.max(...this.ticks.map((tick) => y.show(tick).length));
    this.box = { left: Math.max(36, widest * 6.6 + 12), right: this.width - 12, top, bottom: this.height - 26 };
    this.x = scale(x.least, x.most, this.box.left, this.box.right, x.log);
    this.y = scale(least, most, this.box.bottom, this.box.top, y.log);
    this.floor = least;
  }

  // Labels of faults in as many lanes as it takes for none to cover another.
  place() {
    const bands = (this.spec.bands || []).filter((band) => band.label);
    const x = scale(this.spec.x.least, this.spec.x.most, 50, this.width - 12, this.spec.x.log);
    const ends = [];
    const labels = bands.map((band) => {
      const width = band.label.length * 6.7 + 10;
      const at = Math.max(0, Math.min(x(band.from), this.width - 6 - width));
      let lane = ends.findIndex((end) => end <= at);
      if (lane < 0) lane = ends.length;
      ends[lane] = at + width;
      return { band, lane, width };
    });
    // More would leave no room for the plot; the table of faults has them all.
    return { labels: labels.filter((label) => label.lane < 4), lanes: Math.min(4, ends.length) };
  }

  sums() {
    const length = Math.max(0, ...this.shown.map((series) => series.points.length));
    return Array.from({ length }, (_, index) => this.shown.reduce((sum, series) => sum + (series.points[index][1] || 0), 0));
  }

  drawBack() {
    const { top, bottom, left, right } = this.box;
    const inside = (value) => Math.min(right, Math.max(left, this.x(value)));
    for (const [from, until, label] of this.spec.shades || []) {
      const width = inside(until) - inside(from);
      if (!(width > 0)) continue;
      this.svg.append(make("svg:rect", { class: "shade", x: px(inside(from)), y: top, width: px(width), height: bottom - top }));
      if (label && width > label.length * 6 + 6)
        this.svg.append(make("svg:text", { class: "shade-label", x: px(inside(from) + 5), y: top + 12 }, label));
    }
    for (const band of this.spec.bands || []) {
      const [from, until] = [inside(band.from), inside(band.until)];
      if (band.row === undefined) {
        this.svg.append(make("svg:rect", { class: `band ${band.ink}`, x: px(from), y: top, width: px(Math.max(1, until - from)), height: bottom - top }));
      }
    }
  }

  drawAxes() {
    const { left, right, top, bottom } = this.box;
    for (const tick of this.ticks) {
      const y = px(this.y(tick));
      this.svg.append(make("svg:line", { class: tick === this.floor ? "axis" : "grid", x1: left, x2: right, y1: y, y2: y }));
      this.svg.append(make("svg:text", { x: left - 7, y: y + 4, "text-anchor": "end" }, this.spec.y.show(tick)));
    }
    this.svg.append(make("svg:line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }));
    const about = Math.max(2, Math.floor((right - left) / 76));
    let end = -Infinity;
    for (const tick of this.spec.x.ticks(about)) {
      const [x, text] = [this.x(tick), this.spec.x.show(tick)];
      const half = text.length * 3.4;
      const middle = Math.min(this.width - half - 1, Math.max(half, x));
      this.svg.append(make("svg:line", { class: "axis", x1: px(x), x2: px(x), y1: bottom, y2: bottom + 5 }));
      if (middle - half < end + 8) continue;
      end = middle + half;
      this.svg.append(make("svg:text", { x: px(middle), y: bottom + 19, "text-anchor": "middle" }, text));
    }
  }

  drawSeries() {
    const below = this.sumsBelow();
    this.shown.forEach((series, index) => {
      const group = make("svg:g", { class: series.ink });
      if (series.bars) this.drawBars(group, series);
      else if (series.style === "stack") this.drawStack(group, series, below[index]);
      else this.drawLine(group, series);
      this.svg.append(group);
    });
  }

  sumsBelow() {
    if (!this.spec.stacked) return [];
    let sums = (this.shown[0]?.points || []).map(() => 0);
    return this.shown.map((series) => {
      const before = sums;
      sums = sums.map((sum, index) => sum + (series.points[index][1] || 0));
      return before;
    });
  }

  drawLine(group, series) {
    let path = "", pen = false, area = "", first = 0, last = 0;
    const { bottom } = this.box;
    const close = () => { if (pen) { area += `L${px(last)} ${bottom}L${px(first)} ${bottom}Z`; } };
    series.points.forEach(([x, y], index) => {
      if (y === null || (this.spec.y.log && y <= 0)) { close(); pen = false; return; }
      const [left, top] = [this.x(x), this.y(y)];
      // A point without neighbours is a dot.
      const lonely = !pen && !(series.points[index + 1]?.[1] > 0 || series.points[index + 1]?.[1] === 0);
      path += `${pen ? "L" : "M"}${px(left)} ${px(top)}${lonely ? "h0" : ""}`;
      area += `${pen ? "L" : "M"}${px(left)} ${px(top)}`;
      if (!pen) first = left;
      last = left;
      pen = true;
    });
    close();
    if (series.style === "area") group.append(make("svg:path", { class: "area", d: area }));
    group.append(make("svg:path", { class: "line", d: path, "stroke-dasharray": series.dash || "none" }));
  }

  drawBars(group, series) {
    if (series.style === "steps") {
      group.append(make("svg:path", { class: "line", d: this.steps(series.bars), "stroke-dasharray": series.dash || "none" }));
      return;
    }
    let path = "";
    for (const [from, to, value] of series.bars) {
      if (!(value > 0)) continue;
      const [left, right] = [this.x(from), this.x(to)];
      const top = Math.min(this.y(value), this.box.bottom - 1.5);
      path += `M${px(left + 0.5)} ${px(this.box.bottom)}V${px(top)}H${px(Math.max(right - 0.5, left + 1))}V${px(this.box.bottom)}Z`;
    }
    group.append(make("svg:path", { class: "block", d: path }));
  }

  // The outline of bars, for several of them over each other.
  steps(bars) {
    let path = "";
    const { bottom } = this.box;
    const top = (value) => px(value > 0 ? Math.min(this.y(value), bottom) : bottom);
    bars.forEach(([from, to, value], index) => {
      path += `${index ? "V" : `M${px(this.x(from))} ${bottom}V`}${top(value)}H${px(this.x(to))}`;
    });
    return path + (bars.length ? `V${bottom}` : "");
  }

  drawStack(group, series, below) {
    const width = Math.max(1, this.x(this.spec.rows) - this.x(0) - 1);
    let path = "";
    series.points.forEach(([x, y], index) => {
      if (!(y > 0)) return;
      const left = Math.max(this.box.left, this.x(x) - width / 2), right = Math.min(this.box.right, this.x(x) + width / 2);
      const [top, base] = [this.y(below[index] + y), this.y(below[index])];
      path += `M${px(left)} ${px(base)}V${px(Math.min(top, base - 1))}H${px(Math.max(right, left + 1))}V${px(base)}Z`;
    });
    group.append(make("svg:path", { class: "block", d: path }));
  }

  drawMarks() {
    const { top, bottom, left, right } = this.box;
    for (const { band, lane, width } of this.placed.labels) {
      const x = Math.min(right, Math.max(left, this.x(band.from)));
      const base = top - 4 - lane * LANE;
      this.svg.append(make("svg:line", { class: "mark", x1: px(x), x2: px(x), y1: base + 1, y2: bottom }));
      const start = Math.min(x, this.width - 2 - width + 10);
      this.svg.append(make("svg:text", { class: "mark-label", x: px(start), y: base }, band.label));
    }
    for (const band of this.spec.bands || []) {
      if (band.row === undefined) continue;
      const [from, until] = [band.from, band.until].map((value) => Math.min(right, Math.max(left, this.x(value))));
      this.svg.append(make("svg:rect", { class: `block ${band.ink}`, x: px(from), y: top + band.row * 6, width: px(Math.max(3, until - from)), height: 4, rx: 1.5 }));
    }
    (this.spec.marks || []).forEach(({ at, label }, index) => {
      const x = this.x(at), base = top - 4 - (index % 2) * LANE;
      this.svg.append(make("svg:line", { class: "mark", x1: px(x), x2: px(x), y1: base + 1, y2: bottom }));
      this.svg.append(make("svg:text", { class: "mark-label", x: px(Math.min(x, right - 30)), y: base }, label));
    });
  }

  // Where the cursor can stand: the middle of every bar, or every point's place.
  stops() {
    const places = this.shown.flatMap((series) => series.bars
      ? series.bars.map((bar) => this.spec.x.log ? Math.sqrt(bar[0] * bar[1]) : (bar[0] + bar[1]) / 2)
      : series.points.map((point) => point[0]));
    return [...new Set(places)].sort((a, b) => a - b);
  }

  point(event) {
    if (!this.svg || !this.shown.length) return;
    const left = event.clientX - this.svg.getBoundingClientRect().left;
    let [best, distance] = [null, Infinity];
    for (const stop of this.stops()) {
      const away = Math.abs(this.x(stop) - left);
      if (away < distance) [best, distance] = [stop, away];
    }
    this.show(best);
  }

  key(event) {
    if (!this.svg || !this.shown.length) return;
    const stops = this.stops();
    const now = this.at === null ? -1 : stops.indexOf(this.at);
    const to = { ArrowLeft: now < 0 ? stops.length - 1 : now - 1, ArrowRight: now + 1, Home: 0, End: stops.length - 1 }[event.key];
    if (event.key === "Escape") this.leave();
    if (to === undefined) return;
    event.preventDefault();
    this.show(stops[Math.max(0, Math.min(stops.length - 1, to))]);
  }

  leave() {
    this.at = null;
    this.cursor?.replaceChildren();
    this.tip.hidden = true;
  }

  // What a series has at a place.
  value(series, at) {
    if (series.bars) return series.bars.find((bar) => bar[0] <= at && at < bar[1]) || null;
    let best = null;
    for (const point of series.points)
      if (best === null || Math.abs(point[0] - at) < Math.abs(best[0] - at)) best = point;
    const near = best !== null && Math.abs(this.x(best[0]) - this.x(at)) <= Math.max(3, this.spec.near || 0);
    return near && best[1] !== null ? best : null;
  }

  show(at) {
    if (at === null || at === undefined) return;
    this.at = at;
    const x = this.x(at), { top, bottom } = this.box;
    this.cursor.replaceChildren(make("svg:line", { class: "cursor", x1: px(x), x2: px(x), y1: top, y2: bottom }));
    const rows = [make("b", {}, this.spec.x.title(at))];
    for (const series of this.shown) {
      const value = this.value(series, at);
      const text = value === null ? "–" : (series.show || this.spec.y.show)(value[value.length - 1], value);
      if (value === null && this.spec.stacked) continue;
      if (this.spec.stacked && !(value[1] > 0)) continue;
      rows.push(make("div", {}, make("span", {}, make("i", { class: series.ink }), series.name), make("span", {}, text)));
      if (value && !series.bars && !this.spec.stacked && (!this.spec.y.log || value[1] > 0))
        this.cursor.append(make("svg:circle", { class: `dot ${series.ink}`, cx: px(this.x(value[0])), cy: px(this.y(value[1])), r: 4 }));
    }
    for (const band of this.spec.bands || [])
      if (band.from <= at && at <= Math.max(band.until, band.from + (this.spec.rows || 0))) rows.push(make("span", { class: "none" }, band.text));
    if (rows.length === 1) rows.push(make("span", { class: "none" }, "nothing"));
    this.tip.replaceChildren(...rows);
    this.tip.hidden = false;
    const room = this.width - x > this.tip.offsetWidth + 24;
    this.tip.style.left = `${Math.max(0, room ? x + 14 : x - this.tip.offsetWidth - 14)}px`;
    this.tip.style.top = `${top + 6}px`;
  }

  // The same numbers for those who cannot see the picture, or want to copy them.
  tabulate() {
    this.table.querySelector("div")?.remove();
    if (!this.table.open || !this.spec) return;
    const head = make("tr", {}, make("th", { scope: "col" }, this.spec.x.name || ""));
    for (const series of this.shown) head.append(make("th", { scope: "col" }, series.name));
    const body = make("tbody");
    for (const at of this.stops()) {
      const row = make("tr", {}, make("th", { scope: "row" }, this.spec.x.title(at)));
      for (const series of this.shown) {
        const value = this.value(series, at);
        row.append(make("td", {}, value === null ? "–" : (series.show || this.spec.y.show)(value[value.length - 1], value)));
      }
      body.append(row);
    }
    this.table.append(make("div", { class: "scroll numbers", tabindex: "0" }, make("table", {}, make("thead", {}, head), body)));
  }
}
