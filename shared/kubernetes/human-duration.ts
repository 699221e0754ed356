// Formats durations as kubectl does: `5m`, `3d4h`.

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** Formats a duration like HumanDuration of k8s.io/apimachinery/pkg/util/duration. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 2 * MINUTE) return `${Math.max(seconds, 0)}s`;
  if (seconds < 10 * MINUTE) return twoUnits(seconds, [MINUTE, "m"], [1, "s"]);
  if (seconds < 3 * HOUR) return oneUnit(seconds, [MINUTE, "m"]);
  if (seconds < 8 * HOUR) return twoUnits(seconds, [HOUR, "h"], [MINUTE, "m"]);
  if (seconds < 2 * DAY) return oneUnit(seconds, [HOUR, "h"]);
  if (seconds < 8 * DAY) return twoUnits(seconds, [DAY, "d"], [HOUR, "h"]);
  if (seconds < 2 * YEAR) return oneUnit(seconds, [DAY, "d"]);
  return seconds < 8 * YEAR ? twoUnits(seconds, [YEAR, "y"], [DAY, "d"]) : oneUnit(seconds, [YEAR, "y"]);
}

type Unit = readonly [seconds: number, letter: string];

const oneUnit = (seconds: number, [size, letter]: Unit) => `${Math.floor(seconds / size)}${letter}`;

function twoUnits(seconds: number, large: Unit, small: Unit): string {
  const rest = Math.floor((seconds % large[0]) / small[0]);
  return oneUnit(seconds, large) + (rest === 0 ? "" : `${rest}${small[1]}`);
}
