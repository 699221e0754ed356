// Says what becomes of what before something is done to a machine, and whether it can be undone; then does it.
import { useId, useState } from "preact/hooks";
import type { AskFault } from "../base/api.ts";
import { hrefOf } from "../base/route.ts";
import { usePage } from "../page.ts";
import { Dialog } from "../parts/dialog.tsx";
import { FaultNotice } from "../parts/notice.tsx";
import { type ActName, MACHINE_ACTS } from "./machine-acts.ts";
import { MarkedText } from "./marked-text.tsx";
import { Pairs } from "./section.tsx";
import { Senders } from "./senders.tsx";
import { machinePath, type WatchedMachine } from "./use-machine.ts";

interface ActDialogProps {
  act: ActName;
  machine: WatchedMachine;
  onClose: () => void;
}

export function ActDialog({ act, machine: { name, again }, onClose }: ActDialogProps) {
  const { label, description, effects, undo } = MACHINE_ACTS[act];
  return (
    <Dialog title={`${label}: ${name}`} onClose={onClose}>
      <div class="machine-act stack">
        <p>
          <MarkedText text={description} name={name} />
        </p>
        <Pairs pairs={effects} />
        {act === "believe" && <Senders name={name} change="" />}
        <p>
          <strong>Undoing it:</strong> <MarkedText text={undo} name={name} />
        </p>
        <ActForm act={act} name={name} again={again} onClose={onClose} />
      </div>
    </Dialog>
  );
}

interface ActFormProps {
  act: ActName;
  name: string;
  again: () => void;
  onClose: () => void;
}

function ActForm({ act, name, again, onClose }: ActFormProps) {
  const { ask, say, go } = usePage();
  const [typed, setTyped] = useState("");
  const [isUnderWay, setUnderWay] = useState(false);
  const [fault, setFault] = useState<AskFault | null>(null);
  const { label, isDangerous, mustTypeName, outcome, request } = MACHINE_ACTS[act];
  const isAgreed = !mustTypeName || typed.trim() === name;
  const perform = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!isAgreed || isUnderWay) return;
    setUnderWay(true);
    setFault(null);
    const { method, path, body } = request;
    const done = await ask<null>(method, machinePath(name, path), body === undefined ? {} : { body });
    setUnderWay(false);
    if (!done.ok) return setFault(done.error);
    say(`${name}: ${outcome}.`);
    onClose();
    if (act === "forget") go(hrefOf({ view: "fleet" }));
    else again();
  };
  return (
    <form class="stack" onSubmit={(event) => void perform(event)}>
      {mustTypeName && <TypedName name={name} typed={typed} onType={setTyped} />}
      {fault && <FaultNotice what={`${label} failed`} fault={fault} />}
      <div class="row">
        <button type="submit" class={isDangerous ? "danger" : "primary"} disabled={!isAgreed || isUnderWay}>
          {label}
        </button>
        <button type="button" onClick={onClose}>
          Leave it as it is
        </button>
      </div>
    </form>
  );
}

function TypedName({ name, typed, onType }: { name: string; typed: string; onType: (text: string) => void }) {
  const id = useId();
  return (
    <div class="stack">
      <label for={id}>
        Type its name, <strong>{name}</strong>, to agree:
      </label>
      <input
        id={id}
        value={typed}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onInput={({ currentTarget }) => onType(currentTarget.value)}
      />
    </div>
  );
}
