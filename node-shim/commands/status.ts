// node-shim status: what the running shim last did, and what it comes to. Offline: asks nobody, changes nothing.
import { wallMs } from "../base/clock.ts";
import { statusScreen, type Screen } from "../status/screen.ts";
import { statusOf } from "../status/status.ts";

export interface StatusFlags {
  state: string;
  json?: boolean;
}

/** What is printed, and the exit code. Throws as statusOf does. */
export function statusCommand(
  { state, json }: StatusFlags,
  screen: Screen,
): { text: string; exitCode: number } {
  const nowMs = wallMs();
  const { seen, diagnosis } = statusOf(state, nowMs);
  const { exitCode } = diagnosis;
  if (!json) return { text: statusScreen(diagnosis, seen, nowMs, screen), exitCode };
  const { kind, text, cure } = diagnosis;
  const whole = { kind, text, cure, exitCode, isRunning: seen?.isRunning ?? false, status: seen?.file };
  return { text: `${JSON.stringify(whole, null, 2)}\n`, exitCode };
}
