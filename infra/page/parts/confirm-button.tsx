// A button for what cannot be undone at once: its dialog says what follows, and asks.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { AskMethod } from "../base/api.ts";
import { usePage } from "../page.ts";
import { FormDialog } from "./form-dialog.tsx";
import { useAct } from "./use-act.ts";

interface ConfirmButtonProps {
  label: string;
  /** The dialog's: "Revoke this token?" */
  title: string;
  /** What follows, in words. */
  children: ComponentChildren;
  request: { method: AskMethod; path: string; body?: unknown };
  /** Said once it is done. */
  done: string;
  onDone?: (() => void) | undefined;
  isDangerous?: boolean;
  isPrimary?: boolean;
}

export function ConfirmButton(props: ConfirmButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const looks = props.isDangerous ? "danger" : props.isPrimary ? "primary" : undefined;
  return (
    <>
      <button type="button" class={looks} onClick={() => setOpen(true)}>
        {props.label}
      </button>
      {isOpen && <Asked {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

function Asked(props: ConfirmButtonProps & { onClose: () => void }) {
  const { title, label, children, request, done, onDone, onClose, isDangerous } = props;
  const { say } = usePage();
  const act = useAct();
  const agree = async () => {
    if ((await act.run(request.method, request.path, request.body)) === null) return;
    onClose();
    say(done);
    onDone?.();
  };
  return (
    <FormDialog
      title={title}
      label={label}
      failed="That failed"
      act={act}
      isDangerous={isDangerous === true}
      onSubmit={agree}
      onClose={onClose}
    >
      {children}
    </FormDialog>
  );
}
