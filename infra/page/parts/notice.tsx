// Draws a box with a message: an error, a warning or a note.
import type { ComponentChildren } from "preact";
import type { RequestFault } from "../base/api.ts";
import { sentenceOf } from "../base/words.ts";

interface NoticeProps {
  kind: "fault" | "warning" | "quiet";
  children: ComponentChildren;
}

export function Notice({ kind, children }: NoticeProps) {
  return (
    <div class={`notice notice-${kind}`} role={kind === "fault" ? "alert" : "status"}>
      {children}
    </div>
  );
}

interface FaultNoticeProps {
  /** The sentence about the failed action, like "The machines could not be listed". */
  what: string;
  fault: RequestFault;
  /** Called to repeat the action. Absent if the caller repeats it by itself. */
  again?: (() => void) | undefined;
}

export function FaultNotice({ what, fault, again }: FaultNoticeProps) {
  return (
    <Notice kind="fault">
      <p>
        <strong>{what}</strong>: {sentenceOf(fault.message)}
      </p>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </Notice>
  );
}
