// Says what becomes of what before something is done to a machine, and whether it can be undone; then does it.
import { useState } from "preact/hooks";
import { machinePath } from "../base/machine-path.ts";
import { hrefOf } from "../base/route.ts";
import { usePage } from "../page.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { MarkedText } from "../parts/marked-text.tsx";
import { Pairs } from "../parts/pairs.tsx";
import { useAct } from "../parts/use-act.ts";
import { type ActName, MACHINE_ACTS } from "./machine-acts.ts";
import { Senders } from "./senders.tsx";
import type { WatchedMachine } from "./use-machine.ts";

interface ActDialogProps {
  act: ActName;
  machine: WatchedMachine;
  onClose: () => void;
}

export function ActDialog({ act, machine: { name, again }, onClose }: ActDialogProps) {
  const { say, go } = usePage();
  const [typed, setTyped] = useState("");
  const acting = useAct();
  const { label, description, effects, undo, isDangerous, mustTypeName, outcome, request } =
    MACHINE_ACTS[act];
  const perform = async () => {
    if ((await acting.run(request.method, machinePath(name, request.path), request.body)) === null) return;
    say(`${name}: ${outcome}.`);
    onClose();
    if (act === "forget") go(hrefOf({ view: "fleet" }));
    else again();
  };
  return (
    <FormDialog
      title={`${label}: ${name}`}
      label={label}
      failed={`${label} failed`}
      act={acting}
      isDangerous={isDangerous}
      isIncomplete={mustTypeName && typed.trim() !== name}
      onSubmit={perform}
      onClose={onClose}
    >
      <div class="machine-act stack">
        <p>
          <MarkedText text={description} name={name} />
        </p>
        <Pairs pairs={effects} />
        {act === "believe" && <Senders name={name} change="" />}
        <p>
          <strong>Undoing it:</strong> <MarkedText text={undo} name={name} />
        </p>
        {mustTypeName && (
          <Field label={`Type its name, ${name}, to agree:`} value={typed} onChange={setTyped} />
        )}
      </div>
    </FormDialog>
  );
}
