// A button for something that can be done to a machine; it opens the dialog that says what becomes of what.
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { useState } from "preact/hooks";
import { ActDialog } from "./act-dialog.tsx";
import { type ActName, MACHINE_ACTS } from "./machine-acts.ts";
import type { WatchedMachine } from "./use-machine.ts";

interface ActButtonProps {
  act: ActName;
  machine: WatchedMachine;
  whole: WholeNode;
  /** It is what to do now. */
  isFirst?: boolean;
}

export function ActButton({ act, machine, whole, isFirst = false }: ActButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const { label, isDangerous, whyNot } = MACHINE_ACTS[act];
  const not = whyNot(whole);
  const look = isDangerous ? "danger" : isFirst ? "primary" : undefined;
  return (
    <>
      <button type="button" class={look} disabled={not !== null} onClick={() => setOpen(true)}>
        {label} …
      </button>
      {isOpen && <ActDialog act={act} machine={machine} onClose={() => setOpen(false)} />}
    </>
  );
}
