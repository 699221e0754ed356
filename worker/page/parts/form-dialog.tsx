// A form in a dialog: its button, what failed, and a way out.
import type { ComponentChildren } from "preact";
import { Dialog } from "./dialog.tsx";
import type { Act } from "./use-act.ts";

interface FormDialogProps {
  title: string;
  /** The button's: "Make the token". */
  label: string;
  act: Pick<Act, "isActing" | "fault">;
  /** "No token was made" */
  failed: string;
  onSubmit: () => Promise<void>;
  onClose: () => void;
  children: ComponentChildren;
}

export function FormDialog({ title, label, act, failed, onSubmit, onClose, children }: FormDialogProps) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void onSubmit();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="stack" noValidate onSubmit={submit}>
        {children}
        {act.fault && (
          <p class="notice notice-fault" role="alert">
            {failed}: {act.fault.message}.
          </p>
        )}
        <div class="row">
          <button type="submit" class="primary" disabled={act.isActing}>
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
