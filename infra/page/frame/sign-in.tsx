// Draws the sign-in form. A link with a one-time code, from npm start or `rollcall page`, signs in without the form.
import { type Signal, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { RequestFault } from "../base/api.ts";
import type { Session, SessionEnd } from "../live/session.ts";
import { usePage } from "../page.ts";

interface SignInProps extends Pick<Extract<Session, { kind: "out" }>, "ways" | "why"> {
  /** The one-time code of a link (useLinkCode), which is used once. */
  code: Signal<string | null>;
}

export function SignIn({ ways, why, code }: SignInProps) {
  const { session } = usePage();
  const [fault, setFault] = useState<RequestFault | null>(null);
  const [isLoading, setLoading] = useState(false);
  const enter = async (credential: { secret: string } | { code: string }) => {
    setLoading(true);
    setFault(null);
    const entered = await session.signIn(credential);
    setLoading(false);
    if (!entered.ok) setFault(entered.error);
  };
  useSignalEffect(() => {
    const taken = code.value;
    if (taken === null) return;
    code.value = null;
    void enter({ code: taken });
  });
  useEffect(() => {
    document.title = "Sign in · rollcall";
  }, []);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const field = new FormData(form).get("secret");
    const secret = typeof field === "string" ? field.trim() : "";
    // The field accepts a one-time code as well as a secret. A code has a prefix of its own.
    if (secret !== "") void enter(isCode(secret) ? { code: secret } : { secret }).then(() => form.reset());
  };
  return (
    <main class="sign-in pad">
      <h1>rollcall</h1>
      {why && !fault && (
        <p class="notice notice-quiet" role="status">
          {ENDS[why]}
        </p>
      )}
      <form onSubmit={submit}>
        <label for="secret">Secret or one-time code</label>
        <input id="secret" name="secret" type="password" autocomplete="current-password" required />
        <button type="submit" class="primary" disabled={isLoading}>
          {isLoading ? "Signing in …" : "Sign in"}
        </button>
      </form>
      {fault && (
        <p class="notice notice-fault" role="alert">
          {faultText(fault)}
        </p>
      )}
      <p class="quiet">
        The admin secret, the view secret, or an operator’s own. It is sent once; the browser keeps a cookie
        for 12 hours. <code>rollcall page</code> prints a link that signs in by itself.
      </p>
      {ways.access && (
        <p class="quiet">You can also sign in with Cloudflare Access: open the page through it.</p>
      )}
    </main>
  );
}

const ENDS: Readonly<Record<SessionEnd, string>> = {
  left: "You signed out.",
  expired: "Your session has expired. A session lasts at most 12 hours.",
  ended:
    "Your session was ended: by a sign-out in another tab, by an operator, by a newer session, or because its secret is no longer valid.",
};

const CODE_PREFIX = "rcc_";
const isCode = (text: string) => text.startsWith(CODE_PREFIX);

function faultText({ reason, message }: RequestFault): string {
  if (reason === "forbidden") return "That secret or code is not valid (any more).";
  return `Signing in failed: ${message}.`;
}

/** Returns the code in the URL's `#code=CODE`, or null, and removes it, so that no bookmark has it. */
function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code !== null) history.replaceState(history.state, "", location.pathname + location.search);
  return code;
}

/** Returns the code of the link that opened the page, or of a link that is opened in the page later. */
export function useLinkCode(): Signal<string | null> {
  const [first] = useState(takeCode);
  const code = useSignal(first);
  useEffect(() => {
    const take = () => {
      code.value = takeCode() ?? code.peek();
    };
    addEventListener("hashchange", take);
    return () => removeEventListener("hashchange", take);
  }, []);
  return code;
}
