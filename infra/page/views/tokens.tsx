// Draws the join tokens, and the form for a new one.
import { useState } from "preact/hooks";
import type { TokenRequest } from "../../../shared/protocol/join-tokens.ts";
import type { ListedToken, MintedToken, TokensAnswer } from "../../../shared/protocol/operator-answers.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { usePage } from "../page.ts";
import { Answered, useAnswer } from "../parts/answer.tsx";
import { CopyButton, joinCommand } from "../parts/command.tsx";
import { Dialog } from "../parts/dialog.tsx";
import {
  Check,
  Choice,
  ConfirmButton,
  DialogButton,
  Field,
  type FieldProps,
  FormDialog,
  useAct,
  useForm,
} from "../parts/form.tsx";
import { PageLinks } from "../parts/link.tsx";
import { CardTable, type Column } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";

export function TokensView() {
  const { session, route } = usePage();
  const after = route.value.rest.get("after");
  const tokens = useAnswer<TokensAnswer>("/v1/tokens", { after });
  const [minted, setMinted] = useState<MintedToken | null>(null);
  const made = (token: MintedToken) => {
    setMinted(token);
    tokens.again();
  };
  return (
    <div class="stack">
      <header class="row spread">
        <h1>Join tokens</h1>
        {session.isAdmin() && (
          <DialogButton label="New token" look="primary">
            {(close) => <NewToken onClose={close} onMade={made} />}
          </DialogButton>
        )}
      </header>
      <p class="quiet">Machines enrol with a join token. A token’s secret is shown once, when it is made.</p>
      <Answered answer={tokens} what="The tokens could not be listed">
        {(value) => (
          <>
            <TokenTable tokens={value.tokens} again={tokens.again} />
            <PageLinks after={after} next={value.next} first="Newest" following="Older" />
          </>
        )}
      </Answered>
      {minted && <Minted token={minted} onClose={() => setMinted(null)} />}
    </div>
  );
}

const COLUMNS: readonly Column<ListedToken>[] = [
  {
    head: "Names",
    class: "wrap",
    isRowHead: true,
    cell: ({ names, rejoin, mayBeAsked, note }) => (
      <>
        <strong>{names}</strong>
        {rejoin && <span class="tag">rejoin</span>}
        {mayBeAsked === false && <span class="tag">no questions</span>}
        {note && (
          <span class="tag" title={note}>
            without limits
          </span>
        )}
      </>
    ),
  },
  { head: "State", cell: ({ state }) => state },
  {
    head: "Used",
    hint: "Machines that enrolled with it, those that wait, and how many may",
    class: "number",
    cell: ({ used, reserved, uses }) => usedText(used, reserved, uses),
  },
  {
    head: "Valid until",
    class: "unbroken",
    cell: ({ revokedAt, expiresAt }) => <Time at={revokedAt ?? expiresAt} />,
  },
  { head: "Labels and taints", class: "wrap", cell: (token) => gives(token) || "–" },
  {
    head: "Made",
    cell: ({ createdAt, createdBy }) => (
      <>
        <Time at={createdAt} /> by {createdBy}
      </>
    ),
  },
  { head: "ID", class: "mono", cell: ({ id }) => <span title={id}>{id.slice(0, 8)}…</span> },
];

/** Returns `200 of 400`, and the machines that wait for approval: `200 of 400, 1 waits`. */
export function usedText(used: number, waiting: number, uses: number): string {
  return `${used} of ${uses}${waiting > 0 ? `, ${waiting} ${waiting === 1 ? "waits" : "wait"}` : ""}`;
}

function TokenTable({ tokens, again }: { tokens: readonly ListedToken[]; again: () => void }) {
  const isAdmin = usePage().session.isAdmin();
  const who = isAdmin ? "Make one, and" : "An operator with the role admin makes one;";
  return (
    <CardTable
      label="Join tokens"
      rows={tokens}
      columns={COLUMNS}
      keyOf={({ id }) => id}
      rowClass={({ state }) => (state === "valid" ? undefined : "over")}
      actions={isAdmin && ((token) => token.state === "valid" && <Revoke token={token} again={again} />)}
      none={`There is no token yet. ${who} a machine joins with the command that comes with it.`}
    />
  );
}

function Revoke({ token: { id, names }, again }: { token: ListedToken; again: () => void }) {
  return (
    <ConfirmButton
      label="Revoke"
      title="Revoke this token?"
      request={{ method: "DELETE", path: `/v1/tokens/${encodeURIComponent(id)}` }}
      done="The token is revoked"
      onDone={again}
      isDangerous
    >
      <p>
        No machine can enrol with the token for <strong>{names}</strong> any more. Machines that enrolled
        stay: revoke those by name.
      </p>
    </ConfirmButton>
  );
}

/** Returns the labels, taints and roles that the token sets on its Nodes, as kubectl writes them. */
function gives({ labels = {}, taints = [], roles = [], withoutFactsOnlyTaint }: ListedToken): string {
  return [
    ...Object.entries(labels).map(([key, value]) => `${key}=${value}`),
    ...taints.map(({ key, value, effect }) => `${key}${value ? `=${value}` : ""}:${effect}`),
    ...roles.map((role) => `role ${role}`),
    ...(withoutFactsOnlyTaint ? ["no facts-only taint needed"] : []),
  ].join(", ");
}

function Minted({ token, onClose }: { token: MintedToken; onClose: () => void }) {
  const command = joinCommand(location.origin, token.token);
  return (
    <Dialog title="The token, shown this once" onClose={onClose}>
      <div class="stack">
        <p>
          Run this as root on {token.uses === 1 ? "the machine" : `up to ${token.uses} machines`} named{" "}
          <strong>{token.names}</strong>, until <Time at={token.expiresAt} form="absolute" />:
        </p>
        <pre class="breaks">{command}</pre>
        <div class="row">
          <CopyButton text={command} of="the join command" />
          <details>
            <summary>The token alone</summary>
            <div class="row">
              <code class="wrap">{token.token}</code>
              <CopyButton text={token.token} of="the token" />
            </div>
          </details>
        </div>
        <p class="quiet">
          It cannot be shown again: the Worker stores only its public half. The machine joins under its host
          name; if <strong>{token.names}</strong> does not match the host name, add{" "}
          <code>--hostname-override NAME</code>. First install the package <code>rollcall-node-shim</code> on
          the machine.
        </p>
      </div>
    </Dialog>
  );
}

/** The fields of the form, as they were typed. */
export type TokenForm = typeof EMPTY;
const EMPTY = {
  names: "",
  uses: "1",
  expiresInSeconds: "3600",
  isRejoin: false,
  /** true if no operator may ask its machines questions. */
  isNeverAsked: false,
  /** The roles, with spaces or commas between them. "" for the deployment's roles. */
  roles: "",
  /** The labels, one `key=value` per line. */
  labels: "",
  /** The taints, one `key=value:Effect` or `key:Effect` per line. */
  taints: "",
  isWithoutFactsOnlyTaint: false,
  isMayAll: false,
  /** The values that its machines may set, one per line. "" for the default. */
  mayLabel: "",
  mayFeature: "",
  mayTaint: "",
  mayCondition: "",
  mayResource: "",
  mayAddress: "",
  mayCloud: "",
};
/** The fields of values that machines may set, each with its label and hint. */
const MAY = [
  ["mayLabel", "May set labels", "example.com/* allows all keys with that beginning, * all keys."],
  ["mayFeature", "May have features’ labels", "pci-10de.present, or cpu-* for all that begin so."],
  ["mayTaint", "May set taints", "Keys, as for labels."],
  ["mayCondition", "May set conditions", "Types such as RaidDegraded, and reasons of problems’ events."],
  ["mayResource", "May report extended resources", "Names, such as example.com/gpu."],
  ["mayAddress", "May have addresses", "203.0.113.0/24, or .shop.example.com, or * for all."],
  ["mayCloud", "May have provider IDs", "aws:///eu-west-1a/* allows all IDs with that beginning."],
] as const;
const EXPIRIES = [
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "7 days"],
  ["2592000", "30 days"],
] as const;

/** The name of a wrong field, and the form that it expects. */
interface FieldFault {
  field: "names" | "uses" | "labels" | "taints";
  message: string;
}

function NewToken({ onClose, onMade }: { onClose: () => void; onMade: (token: MintedToken) => void }) {
  const { form, field } = useForm(EMPTY);
  const [wrong, setWrong] = useState<FieldFault | null>(null);
  const act = useAct();
  const checked = (name: FieldFault["field"]) => ({
    ...field(name),
    fault: wrong?.field === name ? wrong.message : undefined,
  });
  const submit = async () => {
    const request = tokenRequest(form);
    setWrong(request.ok ? null : request.error);
    const token = request.ok ? await act.run<MintedToken>("POST", "/v1/tokens", request.value) : null;
    if (!token) return;
    onClose();
    onMade(token);
  };
  return (
    <FormDialog
      title="New join token"
      label="Make the token"
      failed="No token was made"
      act={act}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field
        label="Names"
        hint="One Node’s name, or a pattern: * stands for anything without a dot."
        placeholder="edge-*"
        {...checked("names")}
      />
      <div class="row fields">
        <Field
          label="Machines"
          hint="How many may enrol with it."
          {...checked("uses")}
          value={form.isRejoin ? "1" : form.uses}
          isDisabled={form.isRejoin}
        />
        <Choice label="Good for" choices={EXPIRIES} {...field("expiresInSeconds")} />
      </div>
      <Check label="Rejoin: take the name over from the machine that has it" {...field("isRejoin")} />
      <Check label="Operators may not ask its machines questions" {...field("isNeverAsked")} />
      <OfItsNodes field={field} checked={checked} />
      <MaySet field={field} />
    </FormDialog>
  );
}

interface OfItsNodesProps {
  field: ReturnType<typeof useForm<TokenForm>>["field"];
  checked: (name: FieldFault["field"]) => Pick<FieldProps, "value" | "onChange" | "fault">;
}

/** Draws the fields for labels, taints and roles that the token sets on its Nodes. */
function OfItsNodes({ field, checked }: OfItsNodesProps) {
  return (
    <details>
      <summary>Roles, labels, taints</summary>
      <div class="stack">
        <Field
          label="Roles"
          hint="For kubectl’s column ROLES. Empty: those of the deployment."
          {...field("roles")}
        />
        <Field
          label="Labels"
          hint="key=value in each line; these win over the machine’s own."
          {...checked("labels")}
          isLong
        />
        <Field
          label="Taints"
          hint="key=value:NoSchedule in each line; its Nodes are created with them."
          {...checked("taints")}
          isLong
        />
        <Check
          label="Its machines may replace the taint rollcall.dev/facts-only, and so be given pods"
          {...field("isWithoutFactsOnlyTaint")}
        />
      </div>
    </details>
  );
}

/** Draws the fields for the values that the token's machines may set themselves. */
function MaySet({ field }: Pick<OfItsNodesProps, "field">) {
  return (
    <details>
      <summary>What its machines may set themselves</summary>
      <div class="stack">
        <p class="quiet">
          An empty field allows nothing; the field of addresses then allows private addresses and the Node’s
          own name.
        </p>
        <Check label="An empty field allows everything instead" {...field("isMayAll")} />
        {MAY.map(([name, label, hint]) => (
          <Field key={name} label={label} hint={hint} {...field(name)} isLong />
        ))}
      </div>
    </details>
  );
}

const TAINT = /^([^=:\s]+)(?:=([^:\s]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/;
/** Returns the parts of a text that are not empty. */
const parts = (text: string, separator: RegExp) => text.trim().split(separator).filter(Boolean);
const LINES = /\s*\n\s*/;

export function tokenRequest(form: TokenForm): Result<Partial<TokenRequest>, FieldFault> {
  const wrong = (field: FieldFault["field"], message: string) => failure({ field, message });
  const names = form.names.trim();
  if (names === "") return wrong("names", "a name, or a pattern such as edge-*");
  const uses = form.isRejoin ? 1 : Number(form.uses);
  if (!Number.isSafeInteger(uses) || uses < 1) return wrong("uses", "a whole number from 1");
  if (form.isRejoin && names.includes("*")) return wrong("names", "one name: to rejoin is for one machine");
  const labels: Record<string, string> = {};
  for (const line of parts(form.labels, LINES)) {
    const [, key, value] = /^([^=\s]+)=(\S*)$/.exec(line) ?? [];
    if (key === undefined || value === undefined)
      return wrong("labels", `key=value in each line, not ${line}`);
    labels[key] = value;
  }
  const taints: { key: string; value?: string; effect: "NoSchedule" }[] = [];
  for (const line of parts(form.taints, LINES)) {
    const [, key, value, effect] = TAINT.exec(line) ?? [];
    if (key === undefined)
      return wrong(
        "taints",
        `key=value:NoSchedule (or PreferNoSchedule, NoExecute) in each line, not ${line}`,
      );
    taints.push({ key, ...(value && { value }), effect: effect as "NoSchedule" });
  }
  const roles = parts(form.roles, /[\s,]+/);
  return success({
    names,
    uses,
    expiresInSeconds: Number(form.expiresInSeconds),
    ...(form.isRejoin && { rejoin: true }),
    ...(form.isNeverAsked && { mayBeAsked: false }),
    ...(form.isWithoutFactsOnlyTaint && { withoutFactsOnlyTaint: true }),
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(taints.length > 0 && { taints }),
    ...(roles.length > 0 && { roles }),
    mayAll: form.isMayAll,
    ...Object.fromEntries(
      MAY.flatMap(([name]) => (form[name].trim() ? [[name, parts(form[name], LINES)]] : [])),
    ),
  });
}
