/** Endings of names that only an inner network has. */
const INNER = /\.(?:localhost|local|localdomain|internal|intranet|lan|corp|home|private|svc|arpa)$/;

/**
 * Whether a client may send a model's server to this picture: one that comes along, or one on the public web. The server
 * fetches it from where it stands, which may be within reach of what no client is. Addresses and inner names are
 * refused; a public name that leads to an inner address can't be told here.
 */
export function isPublicPicture(text: string): boolean {
  if (/^data:image\/[a-z0-9.+-]+[;,]/i.test(text)) return true;
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return false;
  // The parser has put every spelling of an address into one form: digits and dots, or brackets.
  const host = url.hostname.replace(/\.$/, "");
  const isName = host.includes(".") && !/^[\d.]+$/.test(host) && !host.startsWith("[");
  return isName && !INNER.test(host) && url.username === "" && url.password === "";
}
