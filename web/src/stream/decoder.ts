/** A stream that is not the agreed one: a line that is no JSON object, or one without end. */
export class StreamFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StreamFault";
  }
}

/** Far above the longest line of the contract (a tool result of 1 MiB, escaped). */
const LONGEST_LINE = 16 * 1024 * 1024;

/**
 * Bytes in, JSON values out, whatever the byte at which the network cut. A blank line is a keep-alive
 * and gives nothing. What follows the last newline is kept until its end comes; at the end of a stream
 * it is dropped, because a line without its newline was cut off and will be sent again.
 */
export class LineDecoder {
  readonly #text = new TextDecoder("utf-8");
  /** Pieces of the unfinished line: joined once, so that a long line costs its length only. */
  #pieces: string[] = [];
  #length = 0;

  /** Raises StreamFault. */
  push(chunk: Uint8Array): unknown[] {
    const text = this.#text.decode(chunk, { stream: true });
    const values: unknown[] = [];
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      this.#keep(text.slice(start, end));
      start = end + 1;
      const line = this.#pieces.length === 1 ? (this.#pieces[0] ?? "") : this.#pieces.join("");
      this.#pieces = [];
      this.#length = 0;
      if (line.trim() !== "") values.push(parse(line));
    }
    if (start < text.length) this.#keep(text.slice(start));
    return values;
  }

  #keep(piece: string): void {
    this.#length += piece.length;
    if (this.#length > LONGEST_LINE) throw new StreamFault("A line of the stream has no end.");
    this.#pieces.push(piece);
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new StreamFault("A line of the stream is not JSON.", { cause: error });
  }
}
