// Replaces worker/clock.ts while a round runs: the Worker's clock is the round's virtual time.
import type { Timer } from "../../../worker/kube/shared-timer.ts";
import { virtualTime } from "../../worker/support/virtual-time.ts";
import { type Time, timerOf } from "./objects.ts";

/** The time of the present round; before the first round, a time that stands still. */
let present: Time = virtualTime(0);

/** Sets the time of the round that begins. */
export const setTime = (time: Time): void => void (present = time);

export const currentMs = (): number => present.nowMs();

export const after: Timer = (ms, ring) => timerOf(present, ms, ring);

export const pause = (ms: number): Promise<void> => new Promise((resolve) => void after(ms, resolve));

/** Returns a Timer without ticks, because a cleared timer of virtual time costs no memory. */
export const oneTimer = (_longestMs: number): Timer => after;
