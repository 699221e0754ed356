// The dialog about many machines: what to do, whom it would touch, a yes to exactly that, and how far it is. Closing it stops
// nothing.
import { useState } from "preact/hooks";
import type { BulkPlan, BulkProgress } from "../../../shared/protocol/administration-answers.ts";
import type { ActionName } from "../../../shared/fleet/action-words.ts";
import { BULK_LIMITS } from "../../../shared/protocol/limits.ts";
import type { AskFault } from "../base/api.ts";
import { usePage } from "../page.ts";
import { Dialog } from "../parts/dialog.tsx";
import { MarkedText } from "../parts/marked-text.tsx";
import { FaultNotice, Notice } from "../parts/notice.tsx";
import { BulkOutcome } from "./bulk-outcome.tsx";
import { BulkPlanned } from "./bulk-planned.tsx";
import { BULK_CHOICES, type BulkChoice } from "./bulk-words.ts";
import { counted } from "./needs-words.ts";

export interface BulkDialogProps {
  /** Machines, or what is under way. */
  about: { names: readonly string[] } | { id: string };
  /** Something was begun, with this ID. */
  onBegun: (id: string) => void;
  onClose: () => void;
}

export function BulkDialog({ about, onBegun, onClose }: BulkDialogProps) {
  const [begunId, setBegunId] = useState("id" in about ? about.id : null);
  const begun = (id: string) => {
    setBegunId(id);
    onBegun(id);
  };
  const title =
    "names" in about ? `Act on ${counted(about.names.length, "machine")}` : "Many machines at once";
  return (
    <Dialog title={title} onClose={onClose}>
      {begunId !== null && <BulkOutcome id={begunId} onClose={onClose} />}
      {begunId === null && "names" in about && <BulkForm names={about.names} onBegun={begun} />}
    </Dialog>
  );
}

type Step =
  | { kind: "choose" }
  | { kind: "planned"; choice: BulkChoice; plan: BulkPlan }
  | { kind: "failed"; choice: BulkChoice; what: string; fault: AskFault };

interface BulkFormProps {
  names: readonly string[];
  onBegun: (id: string) => void;
}

/** The Worker may take long to look at thousands. */
const WITHIN_MS = 60_000;

function BulkForm({ names, onBegun }: BulkFormProps) {
  const { ask } = usePage();
  const [step, setStep] = useState<Step>({ kind: "choose" });
  const [asking, setAsking] = useState<ActionName | null>(null);
  const send = async <T,>(choice: BulkChoice, more: { dryRun: true } | { confirmation: string }) => {
    setAsking(choice.action);
    const body = { action: choice.action, names, ...more };
    const answer = await ask<T>("POST", "/v1/bulk", { body, withinMs: WITHIN_MS });
    setAsking(null);
    return answer;
  };
  const plan = async (choice: BulkChoice) => {
    const planned = await send<BulkPlan>(choice, { dryRun: true });
    const what = "Whom it would touch could not be asked";
    setStep(
      planned.ok
        ? { kind: "planned", choice, plan: planned.value }
        : { kind: "failed", choice, what, fault: planned.error },
    );
  };
  const begin = async (choice: BulkChoice, confirmation: string) => {
    const started = await send<BulkProgress>(choice, { confirmation });
    if (started.ok) onBegun(started.value.id);
    else setStep({ kind: "failed", choice, what: "Nothing was begun", fault: started.error });
  };
  const again = () => setStep({ kind: "choose" });
  return (
    <div class="bulk-body" aria-busy={asking !== null}>
      {step.kind === "choose" && (
        <Choices count={names.length} asking={asking} onChoose={(choice) => void plan(choice)} />
      )}
      {step.kind === "planned" && (
        <BulkPlanned
          choice={step.choice}
          plan={step.plan}
          isAsking={asking !== null}
          onAgain={() => void plan(step.choice)}
          onBack={again}
          onYes={(confirmation) => void begin(step.choice, confirmation)}
        />
      )}
      {step.kind === "failed" && (
        <>
          <FaultNotice what={step.what} fault={step.fault} again={() => void plan(step.choice)} />
          <button type="button" onClick={again}>
            Back
          </button>
        </>
      )}
    </div>
  );
}

interface ChoicesProps {
  count: number;
  asking: ActionName | null;
  onChoose: (choice: BulkChoice) => void;
}

function Choices({ count, asking, onChoose }: ChoicesProps) {
  if (count > BULK_LIMITS.machines)
    return (
      <Notice kind="warning">
        At most {counted(BULK_LIMITS.machines, "machine")} at once: narrow the search, and do it in parts.
      </Notice>
    );
  return (
    <>
      <p class="quiet">You see first whom it would touch. Nothing is done before you say yes to that list.</p>
      <ul class="bulk-choices">
        {BULK_CHOICES.map((choice) => (
          <li key={choice.action}>
            <button
              type="button"
              class={choice.isFinal ? "danger" : ""}
              disabled={asking !== null}
              onClick={() => onChoose(choice)}
            >
              {choice.title} …
            </button>
            <span>
              <MarkedText text={choice.description} />
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
