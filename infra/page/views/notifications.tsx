// Notifications: receivers, their waiting and failed deliveries, and mutes.
import { useState } from "preact/hooks";
import type {
  ChangedReceiver,
  LettersAnswer,
  ListedMute,
  ListedReceiver,
  MutesAnswer,
  ReceiversAnswer,
  ReceiverTest,
} from "../../../shared/protocol/receiver-answers.ts";
import { nowMs } from "../base/clock.ts";
import { shortDuration } from "../base/relative-time.ts";
import { usePage } from "../page.ts";
import { Answered, useAnswer } from "../parts/answer.tsx";
import { CopyButton } from "../parts/command.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Choice, ConfirmButton, Field, FormDialog, useAct } from "../parts/form.tsx";
import { FaultNotice, Notice } from "../parts/notice.tsx";
import { Pairs } from "../parts/pairs.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";

export function NotificationsView() {
  return (
    <div class="stack">
      <h1>Notifications</h1>
      <Receivers />
      <Mutes />
    </div>
  );
}

function Receivers() {
  const { session } = usePage();
  const receivers = useAnswer<ReceiversAnswer>("/v1/receivers");
  const [isMaking, setMaking] = useState(false);
  return (
    <section class="stack" aria-labelledby="receivers">
      <header class="row spread">
        <h2 id="receivers">Receivers</h2>
        {session.isAdmin() && (
          <button type="button" onClick={() => setMaking(true)}>
            New receiver
          </button>
        )}
      </header>
      <Answered answer={receivers} what="The receivers could not be listed">
        {(value) =>
          value.receivers.length === 0 ? (
            <p class="card">
              There is no receiver. A receiver is a webhook of a chat, an Alertmanager, or your own program.
            </p>
          ) : (
            value.receivers.map((receiver) => (
              <ReceiverCard key={receiver.name} receiver={receiver} again={receivers.again} />
            ))
          )
        }
      </Answered>
      {isMaking && <NewReceiver onClose={() => setMaking(false)} onMade={receivers.again} />}
    </section>
  );
}

function Mutes() {
  const { session } = usePage();
  const mutes = useAnswer<MutesAnswer>("/v1/mutes");
  const [isMaking, setMaking] = useState(false);
  return (
    <section class="stack" aria-labelledby="mutes">
      <header class="row spread">
        <h2 id="mutes">Mutes</h2>
        {session.isAdmin() && (
          <button type="button" onClick={() => setMaking(true)}>
            New mute
          </button>
        )}
      </header>
      <Answered answer={mutes} what="The mutes could not be listed">
        {(value) => <MuteTable mutes={value.mutes} again={mutes.again} />}
      </Answered>
      {isMaking && <NewMute onClose={() => setMaking(false)} onMade={mutes.again} />}
    </section>
  );
}

function ReceiverCard({ receiver, again }: { receiver: ListedReceiver; again: () => void }) {
  const { session } = usePage();
  const { name, format, url, failingSince, error, waiting, dead, dropped, firing } = receiver;
  return (
    <article class="card stack" aria-label={`Receiver ${name}`}>
      <header class="row spread">
        <h3>
          {name} <span class="tag">{format}</span>
        </h3>
        <span class={failingSince === null ? "check-ok" : "check-failed"}>
          {failingSince === null ? (
            "✓ the last delivery arrived"
          ) : (
            <>
              ✕ nothing has arrived for <Time at={failingSince} form="since" />
            </>
          )}
        </span>
      </header>
      <Pairs
        pairs={[
          ["Address", <span class="mono">{url}</span>],
          ["Alerts on", `${receiver.outagesOnly ? "outages only: " : ""}${alertsOn(receiver)}`],
          ["When", whenText(receiver)],
          ["Deliveries", `${waiting} queued, ${dead} failed, ${dropped} dropped; ${firing} alerts fire`],
        ]}
      />
      {error !== "" && <Notice kind="warning">The last attempt failed: {error}.</Notice>}
      {session.isAdmin() && <ReceiverActs name={name} again={again} />}
      {waiting + dead > 0 && session.isAdmin() && <Deliveries name={name} again={again} />}
    </article>
  );
}

/** `after 2m, again each 1h` */
function whenText({ delaySeconds, repeatMinutes }: ListedReceiver): string {
  const again = repeatMinutes > 0 ? `, again each ${shortDuration(repeatMinutes * 60_000)}` : "";
  return `after ${shortDuration(delaySeconds * 1000)}${again}`;
}

function ReceiverActs({ name, again }: { name: string; again: () => void }) {
  const path = `/v1/receivers/${encodeURIComponent(name)}` as const;
  const { run, isActing, fault } = useAct();
  const [test, setTest] = useState<ReceiverTest | null>(null);
  return (
    <>
      <div class="row">
        <button
          type="button"
          disabled={isActing}
          onClick={() => void run<ReceiverTest>("POST", `${path}/test`).then((outcome) => setTest(outcome))}
        >
          {isActing ? "Sending …" : "Send a test"}
        </button>
        <ConfirmButton
          label="Remove"
          title={`Remove the receiver ${name}?`}
          request={{ method: "DELETE", path }}
          done={`The receiver ${name} is removed`}
          onDone={again}
          isDangerous
        >
          <p>It gets no alerts any more. Its queued deliveries are lost.</p>
        </ConfirmButton>
      </div>
      {fault && <FaultNotice what="The test could not be sent" fault={fault} />}
      {test && (
        <Notice kind={test.arrived ? "quiet" : "warning"}>
          {test.arrived ? "The test arrived" : "The test did not arrive"} ({test.status ?? "no answer"},{" "}
          {test.tookMs} ms)
          {test.answer !== "" && <>: {test.answer}</>}
        </Notice>
      )}
    </>
  );
}

function Deliveries({ name, again }: { name: string; again: () => void }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Queued and failed deliveries</summary>
      {isOpen && <DeliveryList name={name} again={again} />}
    </details>
  );
}

function DeliveryList({ name, again }: { name: string; again: () => void }) {
  const path = `/v1/receivers/${encodeURIComponent(name)}/letters` as const;
  const deliveries = useAnswer<LettersAnswer>(path);
  const { run, isActing, fault } = useAct();
  const resend = async (id: number) => {
    if ((await run("POST", `${path}/${id}/resend`)) === null) return;
    deliveries.again();
    again();
  };
  return (
    <Answered answer={deliveries} what="The deliveries could not be listed">
      {(value) => (
        <ul class="stack">
          {fault && <FaultNotice what="The delivery could not be sent again" fault={fault} />}
          {value.letters.map(({ id, madeAt, state, error, body }) => (
            <li key={id}>
              {state}, made <Time at={madeAt} />
              {error !== "" && `: ${error}`}{" "}
              {state === "dead" && (
                <button type="button" disabled={isActing} onClick={() => void resend(id)}>
                  Send again
                </button>
              )}
              <details>
                <summary>Its text</summary>
                <pre class="breaks">{body}</pre>
              </details>
            </li>
          ))}
        </ul>
      )}
    </Answered>
  );
}

const FORMATS = [
  ["json", "JSON, signed as Standard Webhooks specify"],
  ["slack", "Slack, or another receiver of its format"],
  ["alertmanager", "Alertmanager"],
] as const;

const EMPTY = { name: "", url: "", format: "json", names: "", selector: "", authorization: "" };
type ReceiverForm = typeof EMPTY;

function NewReceiver({ onClose, onMade }: { onClose: () => void; onMade: () => void }) {
  const [form, setForm] = useState(EMPTY);
  const [made, setMade] = useState<ChangedReceiver | null>(null);
  const act = useAct();
  const set = (change: Partial<ReceiverForm>) => setForm((before) => ({ ...before, ...change }));
  const submit = async () => {
    const { authorization, ...rest } = form;
    const body = { ...rest, ...(authorization !== "" && { authorization }) };
    const receiver = await act.run<ChangedReceiver>("POST", "/v1/receivers", body);
    if (!receiver) return;
    onMade();
    if (receiver.secret === null) onClose();
    else setMade(receiver);
  };
  if (made) return <SigningSecret receiver={made} onClose={onClose} />;
  return (
    <FormDialog
      title="New receiver"
      label="Make the receiver"
      failed="It was not made"
      act={act}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field
        label="Name"
        hint="Lower case letters, digits and hyphens."
        value={form.name}
        onChange={(name) => set({ name })}
      />
      <Field
        label="Address"
        hint="The webhook’s, with https."
        value={form.url}
        onChange={(url) => set({ url })}
        placeholder="https://hooks.example.com/…"
      />
      <Choice label="Format" value={form.format} choices={FORMATS} onChange={(format) => set({ format })} />
      <OfSomeMachines form={form} set={set} />
    </FormDialog>
  );
}

interface OfSomeMachinesProps {
  form: ReceiverForm;
  set: (change: Partial<ReceiverForm>) => void;
}

function OfSomeMachines({ form, set }: OfSomeMachinesProps) {
  return (
    <details>
      <summary>Of some machines only; authorization</summary>
      <div class="stack">
        <Field
          label="Names"
          hint="A name, or a pattern such as edge-*."
          value={form.names}
          onChange={(names) => set({ names })}
        />
        <Field
          label="Labels"
          hint="A selector, as kubectl takes it: site=berlin,tier!=gpu."
          value={form.selector}
          onChange={(selector) => set({ selector })}
        />
        <Field
          label="Authorization"
          hint="The header that the receiver asks for; it is never shown again."
          value={form.authorization}
          onChange={(authorization) => set({ authorization })}
          isSecret
        />
      </div>
    </details>
  );
}

function SigningSecret({ receiver, onClose }: { receiver: ChangedReceiver; onClose: () => void }) {
  const secret = receiver.secret ?? "";
  return (
    <Dialog title="Its signing secret, shown this once" onClose={onClose}>
      <div class="stack">
        <p>
          {receiver.name} uses it to verify that a delivery is from this deployment. For another one, remove
          the receiver and create it again, or use <code>rollcall receivers</code>.
        </p>
        <pre class="breaks">{secret}</pre>
        <CopyButton text={secret} of="the signing secret" />
      </div>
    </Dialog>
  );
}

/** The mutes that have not ended. */
function MuteTable({ mutes, again }: { mutes: readonly ListedMute[]; again: () => void }) {
  const { session } = usePage();
  if (mutes.length === 0) return <p class="card">Nothing is muted.</p>;
  return (
    <Table
      label="Mutes"
      heads={["No alerts on", "From", "Until", "Why", "Made by"]}
      hasActions={session.isAdmin()}
    >
      {mutes.map((mute) => (
        <tr key={mute.id}>
          <td class="wrap">{alertsOn(mute)}</td>
          <td>
            <Time at={mute.from} />
          </td>
          <td>
            <Time at={mute.until} />
          </td>
          <td class="wrap">{mute.comment || "–"}</td>
          <td>{mute.who}</td>
          {session.isAdmin() && (
            <td>
              <ConfirmButton
                label="End"
                title="End this mute?"
                request={{ method: "DELETE", path: `/v1/mutes/${mute.id}` }}
                done="The mute is over"
                onDone={again}
              >
                <p>Receivers get alerts on problems that still last.</p>
              </ConfirmButton>
            </td>
          )}
        </tr>
      ))}
    </Table>
  );
}

const HOUR_MS = 3_600_000;
const DURATIONS = [
  ["1", "1 hour"],
  ["4", "4 hours"],
  ["24", "1 day"],
  ["168", "7 days"],
] as const;

function NewMute({ onClose, onMade }: { onClose: () => void; onMade: () => void }) {
  const [form, setForm] = useState({ names: "", selector: "", comment: "" });
  const [hours, setHours] = useState("1");
  const act = useAct();
  const set = (change: Partial<typeof form>) => setForm((before) => ({ ...before, ...change }));
  const submit = async () => {
    const until = new Date(nowMs() + Number(hours) * HOUR_MS).toISOString();
    if ((await act.run("POST", "/v1/mutes", { ...form, until })) === null) return;
    onMade();
    onClose();
  };
  return (
    <FormDialog
      title="New mute"
      label="Mute"
      failed="It was not made"
      act={act}
      onSubmit={submit}
      onClose={onClose}
    >
      <p>Receivers get no alerts on these machines while it lasts. The page still shows their state.</p>
      <Field
        label="Names"
        hint="A name, or a pattern such as edge-*; empty: all."
        value={form.names}
        onChange={(names) => set({ names })}
      />
      <Field
        label="Labels"
        hint="A selector: site=berlin; empty: all."
        value={form.selector}
        onChange={(selector) => set({ selector })}
      />
      <Choice label="For" value={hours} choices={DURATIONS} onChange={setHours} />
      <Field label="Why" value={form.comment} onChange={(comment) => set({ comment })} />
    </FormDialog>
  );
}

interface AlertFilter {
  selector: string;
  names: string;
  states: readonly string[];
}

/** Describes the machines of a receiver or a mute: `not-ready, silent of edge-* with site=berlin` */
export function alertsOn({ selector, names, states }: AlertFilter): string {
  const what = states.length === 0 ? "every state" : states.join(", ");
  const whose = [names !== "" && `named ${names}`, selector !== "" && `with ${selector}`].filter(Boolean);
  return `${what} of ${whose.length === 0 ? "all machines" : `machines ${whose.join(" and ")}`}`;
}
