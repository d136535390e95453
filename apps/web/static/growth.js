// How a player got stronger: its losses against random moves while it learned, as X and as O.

import { html, markIcon } from "./dom.js";
import { SIDES, capital, compact, percent } from "./words.js";

const [WIDTH, HEIGHT] = [100, 60];
const LINES = [0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 1]; // shares with a line and a number

/** The chart of a run, or null if there is no record of the training. */
export function growthChart(steps, sides, unit) {
  if (steps.length < 2) return null;
  const isSampled = steps.some((step) => step.sampled_x || step.sampled_o);
  const isLossless = sides.every((side) => steps.every((step) => !lossOf(side)(step)));
  const figure = isLossless
    ? html`<figure><figcaption>It lost no game against random moves at any of the ${steps.length} checks.</figcaption></figure>`
    : html`
      <figure>
        <figcaption>${sides.map((side) => html`<p>${markIcon(side)} ${said(steps, side, unit)}</p>`)}</figcaption>
        ${lossPlot(steps, sides, unit)}
      </figure>`;
  return html`
    <section class="growth" aria-label="How it grew">
      <h2>How it grew</h2>
      <p>
        Losses against random moves during the training, ${isSampled ? "some of them estimated from sampled games" : "each computed exactly"}.
      </p>
      <div class="charts">
        ${figure}
      </div>
    </section>`;
}

const lossOf = (side) => (step) => step[`${side.toLowerCase()}_loss`];
const firstSafe = (steps, side) => steps.find((step) => step[`unbeatable_${side.toLowerCase()}`]);

function said(steps, side, unit) {
  const safe = firstSafe(steps, side);
  const text = safe
    ? `unbeatable for the first time after ${safe.steps.toLocaleString("en")} ${unit} (the dashed line)`
    : "not unbeatable at any time";
  const [first, last] = [steps[0], steps.at(-1)].map(lossOf(side)).map(percent);
  return `${text}. ${first} lost at first, ${last} in the end.`;
}

/**
 * The curves of the losses. steps: rows of {steps, x_loss, o_loss, unbeatable_x, unbeatable_o}. The
 * axis ends at `end` steps or later. Small losses matter, so it is the square root of them that is
 * drawn.
 */
export function lossPlot(steps, sides, unit, end = 0) {
  const axis = axisOf(steps, end);
  const highest = Math.max(0.01, ...sides.flatMap((side) => steps.map(lossOf(side))));
  const height = (share) => 1 - Math.sqrt(share / highest);
  const place = (count, share) => `${WIDTH * axis(count)} ${HEIGHT * height(share)}`;
  const curve = (side) => {
    const safe = firstSafe(steps, side);
    const points = steps.map((step) => place(step.steps, lossOf(side)(step)));
    return [
      ["safe", safe ? `M${WIDTH * axis(safe.steps)} 0V${HEIGHT}` : ""],
      ["curve", `M${points.join("L")}`],
    ].map(([kind, path]) => `<path class="${kind} ${side.toLowerCase()}" d="${path}"/>`);
  };
  const shares = LINES.filter((share) => share <= highest);
  const line = (share) => `<path class="even" d="M0 ${HEIGHT * height(share)}H${WIDTH}"/>`;
  const svg = html`<svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true"></svg>`;
  svg.innerHTML = [...shares.map(line), ...sides.flatMap(curve)].join("");
  const number = (share) => {
    const element = html`<span>${percent(share)}</span>`;
    element.style.top = `${100 * height(share)}%`;
    return element;
  };
  const tick = (count) => {
    const element = html`<span>${compact(count)}</span>`;
    element.style.left = `${100 * axis(count)}%`;
    element.style.translate = `${-100 * axis(count)}%`; // it stays below the curves
    return element;
  };
  return html`
    <div class="plot">
      <div class="axis" aria-hidden="true">${shares.map(number)}</div>
      ${svg}
      <div class="ticks" aria-hidden="true">${ticksOf(steps, end).map(tick)}</div>
      <p class="axis-name">${capital(unit)} of training, on a logarithmic scale</p>
    </div>`;
}

const lastOf = (steps, end) => Math.max(end, steps.at(-1).steps);

/** The ends of the axis, and powers of ten between them. */
function ticksOf(steps, end) {
  const [first, last] = [steps[0].steps, lastOf(steps, end)];
  const powers = Array.from({ length: 9 }, (_, power) => 10 ** power);
  const isBetween = (count) => count > 3 * Math.max(first, axisUnit(steps)) && 3 * count < last;
  return [first, ...powers.filter(isBetween), last];
}

/**
 * The place of a number of steps on the axis, from 0 to 1. A player changes most at the beginning,
 * so the axis is logarithmic; the first check stands for the unit, because there may be a row of 0.
 */
function axisOf(steps, end) {
  const [first, last] = [steps[0].steps, lastOf(steps, end)];
  const unit = axisUnit(steps);
  const scaled = (count) => Math.log(count / unit + (first ? 0 : 1));
  const [low, high] = [scaled(first), scaled(last)];
  return (count) => (high > low ? (scaled(count) - low) / (high - low) : 0);
}

const axisUnit = (steps) => steps[0].steps || steps[1]?.steps || 1;
