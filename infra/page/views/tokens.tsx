// Join tokens, and the form for a new one.
import { useState } from "preact/hooks";
import type { TokenRequest } from "../../../shared/protocol/join-tokens.ts";
import type { ListedToken, MintedToken, TokensAnswer } from "../../../shared/protocol/operator-answers.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { usePage } from "../page.ts";
import { Answered, useAnswer } from "../parts/answer.tsx";
import { CopyButton, joinCommand } from "../parts/command.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Check, Choice, ConfirmButton, Field, FormDialog, useAct } from "../parts/form.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";

export function TokensView() {
  const { session } = usePage();
  const tokens = useAnswer<TokensAnswer>("/v1/tokens");
  const [isMaking, setMaking] = useState(false);
  const [minted, setMinted] = useState<MintedToken | null>(null);
  const made = (token: MintedToken) => {
    setMaking(false);
    setMinted(token);
    tokens.again();
  };
  return (
    <div class="stack">
      <header class="row spread">
        <h1>Join tokens</h1>
        {session.isAdmin() && (
          <button type="button" class="primary" onClick={() => setMaking(true)}>
            New token
          </button>
        )}
      </header>
      <p class="quiet">Machines enrol with a join token. A token’s secret is shown once, when it is made.</p>
      <Answered answer={tokens} what="The tokens could not be listed">
        {(value) => <TokenTable tokens={value.tokens} again={tokens.again} />}
      </Answered>
      {isMaking && <NewToken onClose={() => setMaking(false)} onMade={made} />}
      {minted && <Minted token={minted} onClose={() => setMinted(null)} />}
    </div>
  );
}

function TokenTable({ tokens, again }: { tokens: readonly ListedToken[]; again: () => void }) {
  const { session } = usePage();
  if (tokens.length === 0)
    return (
      <p class="card">
        There is no token yet.{" "}
        {session.isAdmin()
          ? "Make one, and a machine joins with the command that comes with it."
          : "An operator with the role admin makes one; a machine joins with the command that comes with it."}
      </p>
    );
  return (
    <Table
      label="Join tokens"
      heads={[
        "Names",
        "State",
        { text: "Used", title: "Machines that enrolled with it, those that wait, and how many may" },
        "Valid until",
        "Labels and taints",
        "Made",
        "ID",
      ]}
      hasActions={session.isAdmin()}
    >
      {tokens.map((token) => (
        <TokenRow key={token.id} token={token} again={again} />
      ))}
    </Table>
  );
}

function TokenRow({ token, again }: { token: ListedToken; again: () => void }) {
  const { session } = usePage();
  const isValid = token.state === "valid";
  return (
    <tr class={isValid ? undefined : "over"}>
      <td>
        <strong>{token.names}</strong>
        {token.rejoin && <span class="tag">rejoin</span>}
      </td>
      <td>{token.state}</td>
      <td class="number">
        {token.used}
        {token.reserved > 0 && `+${token.reserved}`} of {token.uses}
      </td>
      <td>
        <Time at={token.revokedAt ?? token.expiresAt} />
      </td>
      <td class="wrap">{gives(token) || "–"}</td>
      <td>
        <Time at={token.createdAt} /> by {token.createdBy}
      </td>
      <td class="mono" title={token.id}>
        {token.id.slice(0, 8)}…
      </td>
      {session.isAdmin() && (
        <td>
          {isValid && (
            <ConfirmButton
              label="Revoke"
              title="Revoke this token?"
              request={{ method: "DELETE", path: `/v1/tokens/${encodeURIComponent(token.id)}` }}
              done="The token is revoked"
              onDone={again}
              isDangerous
            >
              <p>
                No machine can enrol with the token for <strong>{token.names}</strong> any more. Machines that
                enrolled stay: revoke those by name.
              </p>
            </ConfirmButton>
          )}
        </td>
      )}
    </tr>
  );
}

/** What the token sets on its Nodes: labels, taints and roles, as kubectl writes them. */
function gives({ labels = {}, taints = [], roles, withoutFactsOnlyTaint }: ListedToken): string {
  return [
    ...Object.entries(labels).map(([key, value]) => `${key}=${value}`),
    ...taints.map(({ key, value, effect }) => `${key}${value ? `=${value}` : ""}:${effect}`),
    ...(roles ?? []).map((role) => `role ${role}`),
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
          It cannot be shown again: the Worker stores only its public half. The machine appears in the fleet
          once it has joined.
        </p>
      </div>
    </Dialog>
  );
}

const EMPTY: TokenForm = {
  names: "",
  uses: "1",
  expiresInSeconds: "3600",
  isRejoin: false,
  roles: "",
  labels: "",
  taints: "",
  isWithoutFactsOnlyTaint: false,
};
const EXPIRIES = [
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "7 days"],
  ["2592000", "30 days"],
] as const;

interface FieldsProps {
  form: TokenForm;
  set: (change: Partial<TokenForm>) => void;
  faultOf: (field: keyof TokenForm) => string | undefined;
}

function NewToken({ onClose, onMade }: { onClose: () => void; onMade: (token: MintedToken) => void }) {
  const [form, setForm] = useState(EMPTY);
  const [wrong, setWrong] = useState<FieldFault | null>(null);
  const act = useAct();
  const set = (change: Partial<TokenForm>) => setForm((before) => ({ ...before, ...change }));
  const faultOf = (field: keyof TokenForm) => (wrong?.field === field ? wrong.message : undefined);
  const submit = async () => {
    const request = tokenRequest(form);
    setWrong(request.ok ? null : request.error);
    const token = request.ok ? await act.run<MintedToken>("POST", "/v1/tokens", request.value) : null;
    if (token) onMade(token);
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
        fault={faultOf("names")}
        value={form.names}
        onChange={(names) => set({ names })}
        placeholder="edge-*"
      />
      <div class="row fields">
        <Field
          label="Machines"
          hint="How many may enrol with it."
          fault={faultOf("uses")}
          value={form.isRejoin ? "1" : form.uses}
          isDisabled={form.isRejoin}
          onChange={(uses) => set({ uses })}
        />
        <Choice
          label="Good for"
          value={form.expiresInSeconds}
          choices={EXPIRIES}
          onChange={(expiresInSeconds) => set({ expiresInSeconds })}
        />
      </div>
      <Check
        label="Rejoin: take the name over from the machine that has it"
        isOn={form.isRejoin}
        onChange={(isRejoin) => set({ isRejoin })}
      />
      <OfItsNodes form={form} set={set} faultOf={faultOf} />
    </FormDialog>
  );
}

/** What the token sets on its Nodes. */
function OfItsNodes({ form, set, faultOf }: FieldsProps) {
  return (
    <details>
      <summary>Roles, labels, taints</summary>
      <div class="stack">
        <Field
          label="Roles"
          hint="For kubectl’s column ROLES. Empty: those of the deployment."
          value={form.roles}
          onChange={(roles) => set({ roles })}
        />
        <Field
          label="Labels"
          hint="key=value in each line; these win over the machine’s own."
          fault={faultOf("labels")}
          value={form.labels}
          onChange={(labels) => set({ labels })}
          isLong
        />
        <Field
          label="Taints"
          hint="key=value:NoSchedule in each line; its Nodes are created with them."
          fault={faultOf("taints")}
          value={form.taints}
          onChange={(taints) => set({ taints })}
          isLong
        />
        <Check
          label="Its machines may replace the taint rollcall.dev/facts-only, and so be given pods"
          isOn={form.isWithoutFactsOnlyTaint}
          onChange={(isWithoutFactsOnlyTaint) => set({ isWithoutFactsOnlyTaint })}
        />
      </div>
    </details>
  );
}

/** The fields of the form, as they were typed. */
export interface TokenForm {
  names: string;
  uses: string;
  expiresInSeconds: string;
  isRejoin: boolean;
  /** Separated by spaces or commas; "": the deployment's. */
  roles: string;
  /** One `key=value` in each line. */
  labels: string;
  /** One `key=value:Effect` or `key:Effect` in each line. */
  taints: string;
  isWithoutFactsOnlyTaint: boolean;
}

/** A wrong field and the form that it expects. */
interface FieldFault {
  field: keyof TokenForm;
  message: string;
}

const TAINT = /^([^=:\s]+)(?:=([^:\s]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/;
const lines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

export function tokenRequest(form: TokenForm): Result<Partial<TokenRequest>, FieldFault> {
  const names = form.names.trim();
  if (names === "") return failure({ field: "names", message: "a name, or a pattern such as edge-*" });
  const uses = form.isRejoin ? 1 : Number(form.uses);
  if (!Number.isSafeInteger(uses) || uses < 1)
    return failure({ field: "uses", message: "a whole number from 1" });
  if (form.isRejoin && names.includes("*"))
    return failure({ field: "names", message: "one name: to rejoin is for one machine" });
  const labels: Record<string, string> = {};
  for (const line of lines(form.labels)) {
    const [, key, value] = /^([^=\s]+)=(\S*)$/.exec(line) ?? [];
    if (key === undefined || value === undefined)
      return failure({ field: "labels", message: `key=value in each line, not ${line}` });
    labels[key] = value;
  }
  const taints: { key: string; value?: string; effect: "NoSchedule" }[] = [];
  for (const line of lines(form.taints)) {
    const [, key, value, effect] = TAINT.exec(line) ?? [];
    if (key === undefined)
      return failure({
        field: "taints",
        message: `key=value:NoSchedule (or PreferNoSchedule, NoExecute) in each line, not ${line}`,
      });
    taints.push({ key, ...(value && { value }), effect: effect as "NoSchedule" });
  }
  const roles = form.roles.split(/[\s,]+/).filter((role) => role !== "");
  return success({
    names,
    uses,
    expiresInSeconds: Number(form.expiresInSeconds),
    ...(form.isRejoin && { rejoin: true }),
    ...(form.isWithoutFactsOnlyTaint && { withoutFactsOnlyTaint: true }),
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(taints.length > 0 && { taints }),
    ...(roles.length > 0 && { roles }),
  });
}
