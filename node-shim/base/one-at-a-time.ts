// Runs system calls that may hang, without blocking the caller or using up libuv's thread pool.
import { after } from "./clock.ts";
import { success } from "../../shared/result.ts";
import { type Reading, unread, unreadable } from "./reading.ts";

/**
 * Returns a function that runs `call`, one at a time and each for up to `giveUpMs`. A call that hangs longer keeps
 * one of libuv's four threads. Until such a call returns, further calls fail at once. Never rejects.
 */
export function oneAtATime<R>(
  name: string, // typically "statfs"
  call: (argument: string) => Promise<R>,
  giveUpMs: number,
): (argument: string) => Promise<Reading<R>> {
  let hung: Reading<R> | null = null;
  let last: Promise<unknown> = Promise.resolve();

  async function attempt(argument: string): Promise<Reading<R>> {
    if (hung !== null) return hung;
    const answer = resultOf(call, argument);
    const first = await Promise.race([answer, lateUnless(answer, giveUpMs)]);
    if (first !== "late") return first;
    hung = unreadable(`${name} ${argument} has not returned within ${giveUpMs} ms`, "late");
    void answer.then(() => {
      hung = null;
    });
    return hung;
  }

  return (argument) => {
    const mine = last.then(() => attempt(argument));
    last = mine;
    return mine;
  };
}

async function resultOf<R>(call: (argument: string) => Promise<R>, argument: string): Promise<Reading<R>> {
  try {
    return success(await call(argument));
  } catch (error) {
    return unread(error);
  }
}

/** Resolves with "late" after `ms`. If `answer` settles first, cancels the timer and never resolves. */
function lateUnless(answer: Promise<unknown>, ms: number): Promise<"late"> {
  return new Promise((resolve) => {
    const cancel = after(ms, () => resolve("late"));
    void answer.then(cancel);
  });
}
