// The link by which a browser signs in at the page.

/** A fragment is sent to nobody, so that no log has the code. */
export const pageLink = (url: string, code: string) => `${url}/#code=${code}`;
