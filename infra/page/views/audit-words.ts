// Names the actions of the audit logs in words.

const WORDS: Readonly<Record<string, string>> = {
  "operator.create": "Operator made",
  "operator.revoke": "Operator revoked",
  "session.start": "Signed in",
  "session.end": "Signed out",
  "session.revoke": "Session ended",
  "session.code": "Sign-in link made",
  "change.refuse": "Change refused",
  "bulk.start": "Bulk action started",
  "bulk.stop": "Bulk action stopped",
  "receiver.set": "Receiver set",
  "receiver.remove": "Receiver removed",
  "receiver.test": "Receiver tested",
  "letter.resend": "Delivery sent again",
  "mute.create": "Mute made",
  "mute.end": "Mute ended",
  "token.create": "Token made",
  "token.revoke": "Token revoked",
  "token.end": "Token ended",
  "machine.approve": "Machine approved",
  "machine.reject": "Machine rejected",
  "machine.revoke": "Machine revoked",
  "machine.forget": "Machine deleted",
  "machine.ask": "Machine asked",
  "machine.enrol": "Machine enrolled",
  "machine.take-over": "Name taken over",
  "machine.wait": "Machine waits for approval",
  "machine.rotate": "Key rotated",
  "machine.leave": "Machine left",
  "machine.refuse": "Enrolment refused",
  "node.register": "Registered again",
  "node.remove": "Node removed",
  "node.set": "Machine changed",
  "node.believe": "Machine trusted again",
  "node.clear": "Condition ended",
  "index.repair": "Index repaired",
  "rollout.set": "Rollout set",
  "rollout.stop": "Rollout stopped",
  "rollout.end": "Rollout ended",
  "rules.apply": "Rules applied",
  "rules.undo": "Rules taken back",
  "rules.continue": "Rollout of rules continued",
  "backup.export": "Backup made",
  "backup.import": "Backup imported",
  "backup.abandon": "Import abandoned",
};

/** Returns the words of an action. The action of a newer Worker stays as it is. */
export const auditWords = (what: string): string => WORDS[what] ?? what;

/** Matches an ID of a session, a token or a key. A Node's name has no capital letter and no underscore. */
const ID = /^(?=.*[A-Z_])[\w-]{20,43}$/;

/** Returns the beginning of an ID: `tUGkXTK9…`. Another text stays as it is. */
export const shortId = (text: string): string => (ID.test(text) ? `${text.slice(0, 8)}…` : text);
