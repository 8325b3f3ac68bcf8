// Elements, and numbers as people read them. Texts only ever become text nodes or attribute values.
"use strict";

const SVG = "http://www.w3.org/2000/svg";

// make("p", {class: "x"}, "text", child): an element; names of SVG's elements begin with "svg:".
function make(name, attributes = {}, ...children) {
  const element = name.startsWith("svg:") ? document.createElementNS(SVG, name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// Three significant digits, in groups.
function digits(value) {
  if (value === 0) return "0";
  if (Math.abs(value) < 9.995) return String(Number(value.toPrecision(3)));
  if (Math.abs(value) < 99.95) return String(Number(value.toFixed(1)));
  return group(value);
}

// 1 204 331, with spaces at which no line breaks.
function group(value) {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u00a0");
}

function micros(value) {
  if (value < 999.5) return digits(value) + " µs";
  if (value < 999500) return digits(value / 1e3) + " ms";
  if (value < 59.95e6) return digits(value / 1e6) + " s";
  return clock(value / 1e6);
}

// A moment of the run: 12 s, 12.5 s, 2 min 05 s, 1 h 03 min.
function clock(seconds) {
  if (seconds < 60) return Number(seconds.toFixed(1)) + " s";
  const whole = Math.round(seconds);
  const two = (value) => String(value).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor(whole / 60) % 60)} min`;
}

// The same on an axis that reaches to `most`, where there is little room.
function shortClock(seconds, most) {
  if (most <= 120) return Number(seconds.toFixed(1)) + " s";
  const two = (value) => String(Math.floor(value)).padStart(2, "0");
  const minutes = `${Math.floor(seconds / 60) % 60}:${two(seconds % 60)}`;
  return most < 3600 ? minutes : `${Math.floor(seconds / 3600)}:${two((seconds / 60) % 60)} h`;
}

const perSecond = (value) => digits(value) + "/s";
const percent = (share) => (share > 0 && share < 0.0001 ? "<0.01" : Number((share * 100).toFixed(2))) + " %";

// What one in so many requests exceeds: 1000 is p99.9.
function rank(rarity) {
  const places = Math.max(0, Math.floor(Math.log10(rarity) + 1e-9) - 1);
  return "p" + Number((100 * (1 - 1 / rarity)).toFixed(Math.min(places, 9)));
}
