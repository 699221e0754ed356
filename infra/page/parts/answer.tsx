// What a view shows of one answer: that it is asked, that it failed (beside what was there before), or the answer.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { AskFault, Question } from "../base/api.ts";
import { later } from "../base/clock.ts";
import { usePage } from "../page.ts";
import { FaultNotice } from "./notice.tsx";

interface AnsweredProps<T> {
  answer: Answer<T>;
  /** What failed: "The tokens could not be listed". */
  what: string;
  children: (value: T) => ComponentChildren;
}

export function Answered<T>({ answer, what, children }: AnsweredProps<T>) {
  const { value, fault, again } = answer;
  return (
    <>
      {fault && <FaultNotice what={what} fault={fault} again={again} />}
      {value === null ? !fault && <p class="quiet">Asking …</p> : children(value)}
    </>
  );
}

// The Worker's answer to one question, for a view: what was there before stays while it is asked again, and when that fails.

export interface Answer<T> {
  /** null: there has been none yet. */
  value: T | null;
  /** Of the last attempt; null: it succeeded, or is under way. */
  fault: AskFault | null;
  isAsking: boolean;
  again: () => void;
}

/** Asks when the view is shown, when the question changes, and again with `again`. path null: nothing is asked. */
export function useAnswer<T>(
  path: string | null,
  query?: Question["query"],
  alsoAnswer?: Question["alsoAnswer"],
): Answer<T> {
  const { ask } = usePage();
  const [state, setState] = useState<Omit<Answer<T>, "again">>({
    value: null,
    fault: null,
    isAsking: path !== null,
  });
  const [round, setRound] = useState(0);
  const asked = useRef(path);
  const key = JSON.stringify([path, query]);
  useEffect(() => {
    const stop = new AbortController();
    // Another path is about something else: what was shown of the former is not shown any more.
    const isSame = asked.current === path;
    asked.current = path;
    setState((before) => ({ value: isSame ? before.value : null, fault: null, isAsking: path !== null }));
    if (path !== null)
      void ask<T>("GET", path, {
        ...(query && { query }),
        ...(alsoAnswer !== undefined && { alsoAnswer }),
        signal: stop.signal,
      }).then((answer) => {
        if (stop.signal.aborted) return;
        setState((before) => ({
          value: answer.ok ? answer.value : before.value,
          fault: answer.ok ? null : answer.error,
          isAsking: false,
        }));
      });
    return () => stop.abort();
  }, [key, round]);
  return { ...state, again: () => setRound((before) => before + 1) };
}

// Asks again when the feed says that what was asked about has changed.

/** What the feed tells first is no change: all was asked when the view was opened. */
const NOT_TOLD = "null";

/**
 * `change`: as JSON, what the feed tells of it. A question that is under way is let finish: what changes each second would have
 * no answer else.
 */
export function useAgainOnChange(
  { isAsking, again }: Pick<Answer<unknown>, "isAsking" | "again">,
  change: string,
): void {
  const before = useRef(NOT_TOLD);
  const isDue = useRef(false);
  useEffect(() => {
    if (before.current !== NOT_TOLD && before.current !== change) isDue.current = true;
    before.current = change;
    if (!isDue.current || isAsking) return;
    isDue.current = false;
    again();
  }, [change, isAsking]);
}

// Asks the same question again and again, while the page is looked at. What was answered stays when it cannot be asked.

export interface Polled<T> {
  /** null: there has been no answer yet. */
  value: T | null;
  /** Of the last attempt. */
  fault: AskFault | null;
  /** Asks now, and not when it is due. */
  now: () => void;
}

const AFTER_FAULT_MS = 5000;

/** `nextMs`: after which it is asked again; null: it is over. */
export function usePolled<T>(
  path: string,
  nextMs: (value: T) => number | null,
  alsoAnswer?: Question["alsoAnswer"],
): Polled<T> {
  const { ask } = usePage();
  const [state, setState] = useState<Omit<Polled<T>, "now">>({ value: null, fault: null });
  const look = useRef<() => void>(() => undefined);
  useEffect(() => {
    let callOff = () => {};
    let round = 0;
    const end = new AbortController();
    const lookAfter = (ms: number | null) => {
      if (ms !== null) callOff = later(() => void lookNow(), ms);
    };
    const lookNow = async () => {
      callOff();
      if (document.visibilityState === "hidden") return lookAfter(AFTER_FAULT_MS);
      const own = ++round;
      const answer = await ask<T>("GET", path, {
        ...(alsoAnswer !== undefined && { alsoAnswer }),
        signal: end.signal,
      });
      if (end.signal.aborted || own !== round) return;
      setState((before) =>
        answer.ok ? { value: answer.value, fault: null } : { ...before, fault: answer.error },
      );
      lookAfter(answer.ok ? nextMs(answer.value) : AFTER_FAULT_MS);
    };
    look.current = () => void lookNow();
    void lookNow();
    return () => {
      end.abort();
      callOff();
    };
  }, [path]);
  return { ...state, now: () => look.current() };
}
