// Runs probes between two reports, and passes on what they saw. Decides nothing.
import { type Clock, wakeableWait } from "../base/clock.ts";
import type { Probe, Seen } from "../machine/probe.ts";

interface Watching {
  clock: Clock;
  stop: AbortSignal;
  see: (seen: Seen) => void;
  isStarting: () => boolean;
}

/** Upstream fastStatusUpdateOnce. */
const STARTING_EVERY_MS = 100;
/** How soon the end of a suspend is noticed. */
const SUSPEND_CHECK_MS = 1000;
/** A check that is later than this was delayed by a suspend (or by SIGSTOP), not by a busy machine. */
const SUSPENDED_MS = 5000;

/** Probes until stopped. Waits first, since the first report has just looked. Ends after a look that is under way. */
export async function watchProbe(probe: Probe, { clock, stop, see, isStarting }: Watching): Promise<void> {
  const { wait } = wakeableWait(clock, stop);
  const isOver = () => probe.everyMs === null && !isStarting();
  while (!isOver()) {
    await wait(probe.everyMs ?? STARTING_EVERY_MS);
    if (stop.aborted) return;
    const seen = await probe.look();
    if (stop.aborted) return;
    see(seen);
  }
}

/** Detects a suspend by a late timer: timers stop while a machine is suspended, its clock does not. */
export async function watchSuspend(
  clock: Clock,
  stop: AbortSignal,
  resumed: (sleptMs: number) => void,
): Promise<void> {
  const { wait } = wakeableWait(clock, stop);
  while (!stop.aborted) {
    const beforeMs = clock.nowMs();
    await wait(SUSPEND_CHECK_MS);
    const lateMs = clock.nowMs() - beforeMs - SUSPEND_CHECK_MS;
    if (!stop.aborted && lateMs > SUSPENDED_MS) resumed(lateMs);
  }
}
