// A button for what cannot be undone at once: its dialog says what follows, and asks.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { AskMethod } from "../base/api.ts";
import { usePage } from "../page.ts";
import { Dialog } from "./dialog.tsx";
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
  const { run, isActing, fault } = useAct();
  const agree = async () => {
    const answer = await run(request.method, request.path, request.body);
    if (answer === null) return;
    onClose();
    say(done);
    onDone?.();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">
        {children}
        {fault && (
          <p class="notice notice-fault" role="alert">
            That failed: {fault.message}.
          </p>
        )}
        <div class="row">
          <button
            type="button"
            class={isDangerous ? "danger" : "primary"}
            disabled={isActing}
            onClick={() => void agree()}
          >
            {isActing ? "Under way …" : label}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </div>
    </Dialog>
  );
}
