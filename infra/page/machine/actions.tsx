// Draws the actions on one machine. Actions that make no sense at present are folded, with the reason.
import { useState } from "preact/hooks";
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { machinePath } from "../base/api.ts";
import { hrefOf } from "../base/places.ts";
import { usePage } from "../page.ts";
import { MarkedText } from "../parts/command.tsx";
import { DialogButton, Field, FormDialog, useAct } from "../parts/form.tsx";
import { MaintenanceDialog, MuteDialog } from "../parts/quiet.tsx";
import { Pairs } from "../parts/pairs.tsx";
import { Senders } from "./key.tsx";
import { ACT_NAMES, type ActName, MACHINE_ACTS } from "./machine-acts.ts";
import { Fold, Section } from "./section.tsx";
import type { WatchedMachine } from "./use-machine.ts";

interface ActionsProps {
  machine: WatchedMachine;
  whole: WholeNode;
}

export function ActionsSection({ machine, whole }: ActionsProps) {
  const { session } = usePage();
  if (!session.isAdmin()) return null;
  const advised = machine.diagnosis?.acts ?? [];
  const possible = ACT_NAMES.filter((act) => MACHINE_ACTS[act].whyNot(whole) === null);
  const isPlain = (act: ActName) => advised.includes(act) || act === "register";
  const first = possible.filter(isPlain);
  const others = ACT_NAMES.filter((act) => !first.includes(act));
  return (
    <Section id="actions">
      <ul class="machine-acts">
        {session.refusal("POST /v1/mutes") === null && (
          <li>
            <DialogButton label="Mute …">
              {(close) => <MuteDialog machines={[machine.name]} onClose={close} />}
            </DialogButton>
            <p>No alerts on this machine for a time. Its state is still shown.</p>
          </li>
        )}
        <li>
          <MaintenanceButton name={machine.name} />
          <p>Work on this machine: no alerts until its end, and conditions of its Node state it.</p>
        </li>
      </ul>
      <Acts acts={first} machine={machine} whole={whole} />
      <Fold title={`Others (${others.length})`}>
        <Acts acts={others} machine={machine} whole={whole} />
      </Fold>
    </Section>
  );
}

export const MaintenanceButton = ({ name }: { name: string }) => (
  <DialogButton label="Maintenance …">
    {(close) => <MaintenanceDialog machines={[name]} onClose={close} />}
  </DialogButton>
);

function Acts({ acts, machine, whole }: ActionsProps & { acts: readonly ActName[] }) {
  return (
    <ul class="machine-acts">
      {acts.map((act) => {
        const { description, whyNot } = MACHINE_ACTS[act];
        const not = whyNot(whole);
        return (
          <li key={act}>
            <ActButton act={act} machine={machine} whole={whole} />
            <p>
              <MarkedText text={description} name={machine.name} />
              {not !== null && <span class="quiet"> Not now: {not}.</span>}
            </p>
          </li>
        );
      })}
    </ul>
  );
}

interface ActButtonProps extends ActionsProps {
  act: ActName;
  /** true if the diagnosis recommends the action. */
  isFirst?: boolean;
}

export function ActButton({ act, machine, whole, isFirst = false }: ActButtonProps) {
  const { label, isDangerous, whyNot } = MACHINE_ACTS[act];
  return (
    <DialogButton
      label={`${label} …`}
      look={isDangerous ? "danger" : isFirst ? "primary" : undefined}
      isDisabled={whyNot(whole) !== null}
    >
      {(close) => <ActDialog act={act} machine={machine} onClose={close} />}
    </DialogButton>
  );
}

interface ActDialogProps {
  act: ActName;
  machine: WatchedMachine;
  onClose: () => void;
}

function ActDialog({ act, machine: { name, again }, onClose }: ActDialogProps) {
  const { notify, go } = usePage();
  const [typed, setTyped] = useState("");
  const acting = useAct();
  const { label, description, effects, undo, isDangerous, mustTypeName, outcome, request } =
    MACHINE_ACTS[act];
  const perform = async () => {
    if ((await acting.run(request.method, machinePath(name, request.path), request.body)) === null) return;
    notify(`${name}: ${outcome}.`);
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
      isDangerous={isDangerous === true}
      isIncomplete={mustTypeName === true && typed.trim() !== name}
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
          <Field label={`Type its name, ${name}, to confirm:`} value={typed} onChange={setTyped} />
        )}
      </div>
    </FormDialog>
  );
}
