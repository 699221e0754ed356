// All that can be done to a machine from here; what makes no sense now is folded, and says why.
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { usePage } from "../page.ts";
import { MarkedText } from "../parts/marked-text.tsx";
import { ActButton } from "./act-button.tsx";
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
      <Acts acts={first} machine={machine} whole={whole} />
      <Fold title={`Others (${others.length})`}>
        <Acts acts={others} machine={machine} whole={whole} />
      </Fold>
    </Section>
  );
}

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
