// What a view shows of one answer: that it is asked, that it failed (beside what was there before), or the answer.
import type { ComponentChildren } from "preact";
import { FaultNotice } from "./notice.tsx";
import type { Answer } from "./use-answer.ts";

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
