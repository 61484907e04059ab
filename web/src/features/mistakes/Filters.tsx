import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { useWords } from "~/i18n/language";
import form from "~/ui/form/Form.module.css";
import { Icon } from "~/ui/Icon";
import { IconButton } from "~/ui/Button";
import { facetsQuery, filterIn, type Filter } from "./entries";
import styles from "./Mistakes.module.css";

const TYPING_MS = 250;

interface FiltersProps {
  readonly filter: Filter;
  readonly onChange: (filter: Filter) => void;
}

export function Filters({ filter, onChange }: FiltersProps): ReactNode {
  const t = useWords();
  const facets = useQuery(facetsQuery(filter.archived ?? false));
  return (
    <search className={styles["filters"]}>
      <SearchBox
        // What is in the address wins when it changes from elsewhere, such as the back button.
        key={`search-${String(filter.archived)}`}
        value={filter.q ?? ""}
        onChange={(words) => onChange(changed(filter, "q", words))}
      />
      <div className={styles["selects"]}>
        <Facet
          label={t.mistakes.subject}
          all={t.mistakes.allSubjects}
          value={filter.subject}
          options={facets.data?.subjects ?? []}
          onChange={(subject) => onChange(changed(filter, "subject", subject))}
        />
        <Facet
          label={t.mistakes.tag}
          all={t.mistakes.allTags}
          value={filter.tag}
          options={facets.data?.tags ?? []}
          onChange={(tag) => onChange(changed(filter, "tag", tag))}
        />
        <div className={styles["views"]} role="group" aria-label={t.mistakes.view}>
          {([false, true] as const).map((archived) => (
            <button
              key={String(archived)}
              type="button"
              aria-pressed={(filter.archived ?? false) === archived}
              onClick={() => onChange(archived ? { archived } : {})}
            >
              {archived ? t.mistakes.archived : t.mistakes.active}
            </button>
          ))}
        </div>
      </div>
    </search>
  );
}

function SearchBox({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (value: string) => void;
}): ReactNode {
  const t = useWords();
  const [text, setText] = useState(value);
  const [known, setKnown] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // Changed from elsewhere: a cleared filter, the back button.
  if (value !== known) {
    setKnown(value);
    if (value !== text.trim()) setText(value);
  }
  useEffect(() => () => clearTimeout(timer.current), []);
  const say = (next: string, delay: number): void => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(next.trim()), delay);
  };
  return (
    <div className={styles["searchBox"]}>
      <Icon name="search" />
      <input
        type="search"
        className={form["input"]}
        aria-label={t.mistakes.search}
        placeholder={t.mistakes.search}
        maxLength={200}
        autoComplete="off"
        value={text}
        onChange={(event) => {
          const composing = (event.nativeEvent as InputEvent).isComposing;
          if (composing) setText(event.currentTarget.value);
          else say(event.currentTarget.value, TYPING_MS);
        }}
        onCompositionEnd={(event) => say(event.currentTarget.value, TYPING_MS)}
      />
      {text !== "" && (
        <IconButton icon="close" size={16} label={t.mistakes.clearSearch} onClick={() => say("", 0)} />
      )}
    </div>
  );
}

/** An empty value takes that part out of the filter. */
function changed(filter: Filter, part: "q" | "subject" | "tag", value: string): Filter {
  return filterIn({ ...filter, [part]: value });
}

interface FacetProps {
  readonly label: string;
  readonly all: string;
  readonly value: string | undefined;
  readonly options: readonly string[];
  readonly onChange: (value: string) => void;
}

function Facet({ label, all, value, options, onChange }: FacetProps): ReactNode {
  const shown = value === undefined || options.includes(value) ? options : [value, ...options];
  return (
    <div className={form["select"]}>
      <select
        className={form["input"]}
        aria-label={label}
        value={value ?? ""}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        <option value="">{all}</option>
        {shown.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
      <Icon name="chevronDown" size={16} />
    </div>
  );
}
