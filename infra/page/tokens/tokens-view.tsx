// Join tokens: all that there are, and the form for a new one.
import { useState } from "preact/hooks";
import type { ListedToken, MintedToken, TokensAnswer } from "../../../shared/protocol/operator-answers.ts";
import { joinCommand } from "../base/join-command.ts";
import { usePage } from "../page.ts";
import { Answered } from "../parts/answered.tsx";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { ScrollBox } from "../parts/scroll-box.tsx";
import { Time } from "../parts/time.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { NewToken } from "./new-token.tsx";

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
      <p class="quiet">What lets machines enrol. A token’s secret is shown once, when it is made.</p>
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
          : "Somebody with the role admin makes one; a machine joins with the command that comes with it."}
      </p>
    );
  return (
    <ScrollBox label="Join tokens" class="card flush">
      <table>
        <thead>
          <tr>
            <th scope="col">Names</th>
            <th scope="col">State</th>
            <th
              scope="col"
              class="number"
              title="Machines that enrolled with it, those that wait, and how many may"
            >
              Used
            </th>
            <th scope="col">Good until</th>
            <th scope="col">Gives its Nodes</th>
            <th scope="col">Made</th>
            <th scope="col">ID</th>
            {session.isAdmin() && (
              <th scope="col">
                <span class="visually-hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {tokens.map((token) => (
            <TokenRow key={token.id} token={token} again={again} />
          ))}
        </tbody>
      </table>
    </ScrollBox>
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
                Nobody enrols with the token for <strong>{token.names}</strong> any more. Machines that did go
                on: revoke those by name.
              </p>
            </ConfirmButton>
          )}
        </td>
      )}
    </tr>
  );
}

/** Labels, taints and roles, as kubectl writes them. */
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
          It cannot be shown again: the Worker keeps its public half alone. The machine appears in the fleet
          once it has joined.
        </p>
      </div>
    </Dialog>
  );
}
