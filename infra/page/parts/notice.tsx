// A box that says something: what failed, what there is not, what is under way.
import type { ComponentChildren } from "preact";
import type { AskFault } from "../base/api.ts";

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
  /** What failed: "The machines could not be listed". */
  what: string;
  fault: AskFault;
  /** Absent: it is tried again by itself. */
  again?: (() => void) | undefined;
}

/** What failed, why, and a way to try again; what was on the screen before stays beside it. */
export function FaultNotice({ what, fault, again }: FaultNoticeProps) {
  return (
    <Notice kind="fault">
      <p>
        <strong>{what}</strong>: {fault.message}.
      </p>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </Notice>
  );
}
