// Draws the diagnosis of a machine: a sentence, the known details, and the remedy with buttons.
import type { ComponentChildren } from "preact";
import { MAINTENANCE_IN_PROGRESS } from "../../../shared/kubernetes/lifecycle-conditions.ts";
import { hrefOf } from "../base/places.ts";
import { usePage } from "../page.ts";
import { Link } from "../parts/link.tsx";
import { Moment } from "../parts/time.tsx";
import { Pairs } from "../parts/pairs.tsx";
import { MarkedText } from "../parts/command.tsx";
import { ActButton, MaintenanceButton } from "./actions.tsx";
import type { MachineDiagnosis, DiagnosisDetail, DiagnosisLink } from "./diagnosis.ts";
import { goToSection, type WatchedMachine } from "./use-machine.ts";

export function DiagnosisCard({ machine }: { machine: WatchedMachine }) {
  const { diagnosis } = machine;
  if (!diagnosis)
    return (
      <div class="machine-diagnosis machine-diagnosis-off quiet">
        {machine.fault ? "Nothing is known of it." : "Loading …"}
      </div>
    );
  const { sentence, details, warnings, severity, state } = diagnosis;
  return (
    <div class={`machine-diagnosis machine-diagnosis-${state === "silent" ? state : severity}`}>
      <p class="machine-sentence" aria-live="polite">
        {sentence}
      </p>
      {details.length > 0 && <Pairs pairs={details.map(pairOf)} />}
      <Todo machine={machine} diagnosis={diagnosis} />
      {warnings.length > 0 && <Warnings machine={machine} diagnosis={diagnosis} />}
    </div>
  );
}

interface DiagnosedProps {
  machine: WatchedMachine;
  diagnosis: MachineDiagnosis;
}

const pairOf = ({ name, text, at }: DiagnosisDetail) =>
  [name, at === undefined ? text : <Moment at={at} />] as const;

function Todo({ machine, diagnosis: { todo, acts, link } }: DiagnosedProps) {
  const { session } = usePage();
  const { whole, name, live } = machine;
  const buttons = whole && session.isAdmin() ? acts : [];
  const isMaintained = session.isAdmin() && live?.conditions[MAINTENANCE_IN_PROGRESS] === "True";
  if (todo === "" && buttons.length === 0 && !link && !isMaintained) return null;
  return (
    <div class="machine-todo">
      {todo !== "" && (
        <p>
          <strong>What to do:</strong> <MarkedText text={todo} name={name} />
        </p>
      )}
      <div class="row">
        {link === "clones" && <Where link={link} machine={machine} />}
        {whole &&
          buttons.map((act) => (
            <ActButton
              key={act}
              act={act}
              machine={machine}
              whole={whole}
              isFirst={!act.startsWith("runtime") && act !== "believe"}
            />
          ))}
        {link && link !== "clones" && <Where link={link} machine={machine} />}
        {isMaintained && <MaintenanceButton name={name} />}
      </div>
    </div>
  );
}

function Warnings({ machine, diagnosis: { warnings } }: DiagnosedProps) {
  const { session } = usePage();
  const { whole, name } = machine;
  return (
    <ul class="machine-warnings" aria-label="Warnings">
      {warnings.map(({ text, todo, acts, link }) => (
        <li key={text}>
          <span aria-hidden="true" class="machine-warning-sign">
            ▲
          </span>
          <div>
            {text}{" "}
            {todo !== "" && (
              <span class="quiet">
                <MarkedText text={todo} name={name} />
              </span>
            )}{" "}
            {link && <Where link={link} machine={machine} />}
            {whole &&
              session.isAdmin() &&
              acts.map((act) => <ActButton key={act} act={act} machine={machine} whole={whole} />)}
          </div>
        </li>
      ))}
    </ul>
  );
}

/** Draws a link to the part of the page that shows more. */
function Where({ link, machine }: { link: DiagnosisLink; machine: WatchedMachine }): ComponentChildren {
  switch (link) {
    case "approvals":
      return <Link href={hrefOf({ view: "approvals" })}>Approvals</Link>;
    case "deployment":
      return <Link href={hrefOf({ view: "deployment" })}>What is wrong with the cluster</Link>;
    case "outage": {
      const { outage } = machine.neighbours ?? {};
      if (!outage) return null;
      return (
        <Link href={hrefOf({ view: "fleet" }, { outage: String(outage.id) })}>
          The outage: {outage.silent} of {outage.machines} machines silent
        </Link>
      );
    }
    case "clones":
      return (
        <button type="button" class="primary" onClick={() => goToSection("key")}>
          Who reports with its key
        </button>
      );
    default:
      return (
        <button type="button" onClick={() => goToSection("history")}>
          Its history
        </button>
      );
  }
}
