// Renders ages as kubectl prints them.
import { humanDuration } from "../../../shared/kubernetes/human-duration.ts";

/** Returns the age of `time`, which is RFC 3339 or milliseconds since 1970, or "" without a time. */
export function ageOf(time: string | number | null | undefined, nowMs: number): string {
  const atMs = typeof time === "string" ? Date.parse(time) : time;
  if (atMs === null || atMs === undefined || Number.isNaN(atMs)) return "";
  // Two clocks may differ by some seconds, so a time slightly in the future counts as now.
  const ms = nowMs - atMs;
  return humanDuration(ms < 0 && ms > -60_000 ? 0 : ms);
}
