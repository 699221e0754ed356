// A form, or a question, in a dialog: its button, what failed, and a way out.
import type { ComponentChildren } from "preact";
import { Dialog } from "./dialog.tsx";
import { FaultNotice } from "./notice.tsx";
import type { Act } from "./use-act.ts";

interface FormDialogProps {
  title: string;
  /** The button's: "Make the token". */
  label: string;
  act: Pick<Act, "isActing" | "fault">;
  /** "No token was made" */
  failed: string;
  /** What it does cannot be taken back. */
  isDangerous?: boolean;
  /** There is nothing yet to be sent. */
  isIncomplete?: boolean;
  onSubmit: () => Promise<void>;
  onClose: () => void;
  children: ComponentChildren;
}

export function FormDialog(props: FormDialogProps) {
  const { title, label, act, failed, isDangerous, isIncomplete = false, onSubmit, onClose, children } = props;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!isIncomplete) void onSubmit();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="stack" noValidate onSubmit={submit}>
        {children}
        {act.fault && <FaultNotice what={failed} fault={act.fault} />}
        <div class="row">
          <button
            type="submit"
            class={isDangerous ? "danger" : "primary"}
            disabled={act.isActing || isIncomplete}
          >
            {act.isActing ? "Under way …" : label}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
