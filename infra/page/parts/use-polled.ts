// Asks the same question again and again, while the page is looked at. What was answered stays when it cannot be asked.
import { useEffect, useRef, useState } from "preact/hooks";
import type { AskFault, Question } from "../base/api.ts";
import { later } from "../base/clock.ts";
import { usePage } from "../page.ts";

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
