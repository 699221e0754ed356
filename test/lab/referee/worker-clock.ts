// Replaces worker/clock.ts while a round runs: the Worker's clock is the round's virtual time.
import type { Timer } from "../../../worker/kube/shared-timer.ts";
import { virtualTime } from "../../worker/support/virtual-time.ts";
import { type Time, timerOf } from "./objects.ts";

/** The time of the present round. Before the first round, it stands still. */
let present: Time = virtualTime(0);

/** Sets the time of the round that begins. */
export const setTime = (time: Time): void => void (present = time);

export const currentMs = (): number => present.nowMs();

export const after: Timer = (ms, ring) => timerOf(present, ms, ring);

export const pause = (ms: number): Promise<void> => new Promise((resolve) => void after(ms, resolve));

/** Returns a Timer without ticks: a cleared timer of virtual time costs little memory. */
export const oneTimer = (_longestMs: number): Timer => after;
