// Draws the rollout of a new version of the shim: its progress and its actions; and the versions that machines have.
import { stateText } from "../../../shared/fleet/state.ts";
import { isBehind, versionKey } from "../../../shared/fleet/sort-keys.ts";
import { matchesLabels } from "../../../shared/kubernetes/label-match.ts";
import { parseLabelSelector } from "../../../shared/kubernetes/label-selector.ts";
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import type {
  RolloutAnswer,
  ShimVersion,
  ShownRollout,
  VersionsAnswer,
} from "../../../shared/protocol/fleet-answers.ts";
import { ROLLOUT_LIMITS } from "../../../shared/protocol/limits.ts";
import { isWholeWithin } from "../base/amounts.ts";
import { hrefOf } from "../base/places.ts";
import { sentenceOf } from "../base/words.ts";
import { usePage } from "../page.ts";
import { Answered, AnsweredSection, useAnswer, usePolled } from "../parts/answer.tsx";
import { ConfirmButton, DialogButton, Field, FormDialog, useAct, useForm } from "../parts/form.tsx";
import { Link } from "../parts/link.tsx";
import { Notice } from "../parts/notice.tsx";
import { Pairs } from "../parts/pairs.tsx";
import { CardTable, type Column } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";

/** Milliseconds between two readings. Machines ask for an upgrade every hour or two. */
const READ_EVERY_MS = 10_000;

export function RolloutView() {
  const { session } = usePage();
  const { value, fault, now } = usePolled<RolloutAnswer>("/v1/rollout", () => READ_EVERY_MS);
  const versions = useAnswer<VersionsAnswer>("/v1/versions");
  const isAdmin = session.isAdmin() && session.refusal("PUT /v1/rollout") === null;
  return (
    <div class="stack">
      <header class="row spread">
        <h1>Rollout</h1>
        {isAdmin && value && !value.rollout && (
          <DialogButton label="New rollout" look="primary">
            {(close) => (
              <RolloutDialog
                before={null}
                version={versions.value?.worker ?? ""}
                onSaved={now}
                onClose={close}
              />
            )}
          </DialogButton>
        )}
      </header>
      <Answered answer={{ value, fault, isLoading: false, again: now }} what="The rollout could not be read">
        {({ rollout }) => (rollout ? <Rollout rollout={rollout} isAdmin={isAdmin} again={now} /> : <None />)}
      </Answered>
      <Versions answer={versions} />
    </div>
  );
}

const None = () => (
  <p class="card">
    There is no rollout. A rollout gives a new version of the shim to a growing part of the machines, and
    stops by itself if they fall silent. Machines with an enabled upgrade timer ask the Worker every hour or
    two, and install the version from your apt repository.
  </p>
);

interface RolloutProps {
  rollout: ShownRollout;
  isAdmin: boolean;
  again: () => void;
}

function Rollout({ rollout, isAdmin, again }: RolloutProps) {
  const { version, percent, selector, stopped, who, sinceMs, machines, atOnce } = rollout;
  const given = machines.underway + machines.upgraded + machines.silent + machines.accepted;
  return (
    <article class="card stack" aria-label={`Rollout of ${version}`}>
      <header class="row spread">
        <h2>{version}</h2>
        <span class={stopped ? "check-failed" : "check-ok"}>{stopped ? "✕ stopped" : "✓ running"}</span>
      </header>
      {stopped && (
        <Notice kind="warning">
          Stopped <Time at={stopped.atMs} />: {sentenceOf(stopped.why)} No further machine gets the version.
        </Notice>
      )}
      <progress
        class="rollout-progress"
        aria-label="Upgraded machines"
        max={Math.max(1, given)}
        value={machines.upgraded}
      />
      <Pairs
        pairs={[
          ["For", `${percent}% of ${selector === "" ? "all machines" : `machines with ${selector}`}`],
          ["Upgraded", `${count(machines.upgraded)} of ${count(given)} that were given the version`],
          ["Under way", `${count(machines.underway)} (at most ${count(atOnce)} at once)`],
          ["Not reporting", <Silent rollout={rollout} />],
          ...(machines.accepted > 0
            ? [["Accepted", `${count(machines.accepted)} did not report when it was set again`] as const]
            : []),
          [
            "Set by",
            <>
              {who}, <Time at={sinceMs} />
            </>,
          ],
        ]}
      />
      {isAdmin && <RolloutActs rollout={rollout} again={again} />}
    </article>
  );
}

const count = (machines: number) => machines.toLocaleString("en");

function Silent({ rollout: { machines, mostSilentPercent, silent } }: { rollout: ShownRollout }) {
  return (
    <>
      {count(machines.silent)} (stops above {mostSilentPercent}%){silent.length > 0 && ": "}
      {silent.map((name, at) => (
        <span key={name}>
          {at > 0 && ", "}
          <Link href={hrefOf({ machine: name })}>{name}</Link>
        </span>
      ))}
      {machines.silent > silent.length && ", …"}
    </>
  );
}

function RolloutActs({ rollout, again }: { rollout: ShownRollout; again: () => void }) {
  const { version, stopped } = rollout;
  return (
    <div class="row">
      <DialogButton label={stopped ? "Continue or change …" : "Change …"}>
        {(close) => <RolloutDialog before={rollout} version={version} onSaved={again} onClose={close} />}
      </DialogButton>
      {!stopped && (
        <ConfirmButton
          label="Stop"
          title={`Stop the rollout of ${version}?`}
          request={{ method: "POST", path: "/v1/rollout/stop" }}
          done="The rollout has stopped"
          onDone={again}
          isDangerous
        >
          <p>No further machine gets the version until you continue. Upgraded machines keep it.</p>
        </ConfirmButton>
      )}
      <ConfirmButton
        label="End"
        title={`End the rollout of ${version}?`}
        request={{ method: "DELETE", path: "/v1/rollout" }}
        done="The rollout has ended"
        onDone={again}
      >
        <p>Machines keep their present version. The counts of this rollout are deleted.</p>
      </ConfirmButton>
    </div>
  );
}

export interface RolloutForm {
  version: string;
  percent: string;
  selector: string;
  mostSilentPercent: string;
  atOnce: string;
}

/** Returns the expected form of each wrong field. The Worker also checks the fields. */
export function rolloutFaults(form: RolloutForm): Partial<RolloutForm> {
  const { percent, mostSilentPercent, atOnce } = ROLLOUT_LIMITS;
  const numbers = { percent, mostSilentPercent, atOnce };
  const faults: Partial<RolloutForm> = {};
  if (versionKey(form.version.trim()) === "") faults.version = "a version such as 0.2.0 or 0.3.0-rc.1";
  if (!parseLabelSelector(form.selector.trim()).ok) faults.selector = "a selector such as stage=canary";
  for (const [name, limits] of Object.entries(numbers) as [keyof typeof numbers, [number, number]][])
    if (!isWholeWithin(form[name], limits))
      faults[name] = `a whole number from ${limits[0]} to ${limits[1].toLocaleString("en")}`;
  return faults;
}

/** Returns the number of machines that the form's rollout would upgrade: `all` of them match its labels. */
export function rolloutReach(
  { version, percent, selector }: RolloutForm,
  machines: Iterable<Pick<FeedMachine, "labels" | "versions">>,
): { older: number; all: number } {
  const parsed = parseLabelSelector(selector.trim());
  const of = [...machines].filter(({ labels }) => parsed.ok && matchesLabels(parsed.value, labels));
  const older = of.filter(({ versions }) => isBehind(versions.shim, version.trim())).length;
  return { older: Math.ceil((older * Number(percent)) / 100), all: of.length };
}

interface RolloutDialogProps {
  /** The rollout to change; null for a new one. */
  before: ShownRollout | null;
  /** The version that the form begins with. */
  version: string;
  onSaved: () => void;
  onClose: () => void;
}

function RolloutDialog({ before, version, onSaved, onClose }: RolloutDialogProps) {
  const { live } = usePage();
  const { form, field } = useForm<RolloutForm>({
    version,
    percent: String(before?.percent ?? 1),
    selector: before?.selector ?? "",
    mostSilentPercent: String(before?.mostSilentPercent ?? 2),
    atOnce: String(before?.atOnce ?? 50),
  });
  const act = useAct();
  const faults = rolloutFaults(form);
  const isWrong = Object.keys(faults).length > 0;
  const { older, all } = rolloutReach(form, live.machines().values());
  const save = async () => {
    const { percent, mostSilentPercent, atOnce } = form;
    const numbers = {
      percent: Number(percent),
      mostSilentPercent: Number(mostSilentPercent),
      atOnce: Number(atOnce),
    };
    const body = { version: form.version.trim(), selector: form.selector.trim(), ...numbers };
    if ((await act.run("PUT", "/v1/rollout", body)) === null) return;
    onSaved();
    onClose();
  };
  return (
    <FormDialog
      title={before ? "Change the rollout" : "New rollout"}
      label={isWrong ? "Start" : `Give it to about ${count(older)} machines`}
      failed="The rollout was not set"
      act={act}
      isIncomplete={isWrong}
      onSubmit={save}
      onClose={onClose}
    >
      <RolloutFields faults={faults} field={field} />
      {!isWrong && (
        <p role="status">
          {count(all)} machines match. About {count(older)} of them get the version: {form.percent.trim()}% of
          those with an older one.
          {before?.stopped && " Machines that do not report now do not stop the rollout again."}
        </p>
      )}
    </FormDialog>
  );
}

interface RolloutFieldsProps {
  faults: Partial<RolloutForm>;
  field: ReturnType<typeof useForm<RolloutForm>>["field"];
}

function RolloutFields({ faults, field }: RolloutFieldsProps) {
  return (
    <>
      <Field
        label="Version"
        hint="It must be in your apt repository. Another version begins another rollout."
        fault={faults.version}
        {...field("version")}
      />
      <Field
        label="Percent"
        hint="Of the matching machines. A larger part includes the machines of a smaller one."
        fault={faults.percent}
        {...field("percent")}
      />
      <Field
        label="Labels"
        hint="A selector such as stage=canary; empty for all machines."
        fault={faults.selector}
        {...field("selector")}
      />
      <Field
        label="Stop above, in percent not reporting"
        hint="Of the machines that were given the version; two machines at least."
        fault={faults.mostSilentPercent}
        {...field("mostSilentPercent")}
      />
      <Field label="At once" fault={faults.atOnce} {...field("atOnce")} />
    </>
  );
}

const VERSION_COLUMNS: readonly Column<ShimVersion>[] = [
  {
    head: "Version",
    isRowHead: true,
    cell: ({ version }) =>
      version === "" ? (
        "not known yet"
      ) : (
        <Link href={hrefOf({ view: "fleet" }, { q: `version:${version}` })}>{version}</Link>
      ),
  },
  { head: "Machines", class: "number", cell: ({ machines }) => count(machines) },
  { head: "Compared with the Worker", cell: ({ isBehind: isOlder }) => (isOlder ? "older" : "–") },
  {
    head: "States",
    cell: ({ states }) =>
      Object.entries(states)
        .map(([state, machines]) => `${count(machines)} ${stateText(state).toLowerCase()}`)
        .join(", "),
  },
];

function Versions({ answer }: { answer: ReturnType<typeof useAnswer<VersionsAnswer>> }) {
  return (
    <AnsweredSection
      id="versions"
      title="Versions of the shim"
      answer={answer}
      what="The versions could not be listed"
    >
      {({ worker, shims, others }) => (
        <>
          <p class="quiet">The Worker has version {worker}.</p>
          <CardTable
            label="Versions of the shim"
            rows={shims}
            columns={VERSION_COLUMNS}
            keyOf={({ version }) => version}
            none="No machine has reported a version."
          />
          {others > 0 && <p class="quiet">{count(others)} machines have other versions.</p>}
        </>
      )}
    </AnsweredSection>
  );
}
