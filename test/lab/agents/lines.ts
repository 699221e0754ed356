// Makes the lines of a busy kernel's log for the comparison of the agents' costs.

const LINES_PER_SECOND = 100;
const two = (number: number) => String(number).padStart(2, "0");

/** Returns a second's lines at `now` by the local clock. The last one is a problem, if wanted. */
export function linesPerSecond(now: Date, hasProblem: boolean): string {
  const month = now.toLocaleString("en", { month: "short" });
  const time = `${two(now.getHours())}:${two(now.getMinutes())}:${two(now.getSeconds())}`;
  const stamp = `${month} ${String(now.getDate()).padStart(2)} ${time} vm kernel: [  10.000000]`;
  const others = Array.from(
    { length: hasProblem ? LINES_PER_SECOND - 1 : LINES_PER_SECOND },
    (_, at) =>
      `${stamp} audit: type=1400 audit(1700000000.${at}:1): apparmor="ALLOWED" operation="open" pid=${at}\n`,
  );
  return (
    others.join("") + (hasProblem ? `${stamp} task docker:2341 blocked for more than 120 seconds.\n` : "")
  );
}
