import type { UseQueryResult } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import type { Command } from "~/api/commands";
import { capabilityText, packageText, searchNames } from "~/i18n/capabilities";
import { en } from "~/i18n/en";
import { useLanguage } from "~/i18n/language";
import { zh } from "~/i18n/zh";
import { PALETTE_KEYS } from "~/lib/openPalette";
import { IconButton } from "~/ui/Button";
import { commandIcon } from "~/ui/commandIcon";
import { ErrorNotice } from "~/ui/ErrorNotice";
import { Icon, type IconName } from "~/ui/Icon";
import { Skeleton } from "~/ui/Skeleton";
import { DESTINATIONS } from "./navigation";
import styles from "./Palette.module.css";
import { recent, remember } from "./recent";
import { search, type Findable } from "./search";

interface Offer extends Findable {
  readonly title: string;
  readonly description: string;
  readonly icon: IconName;
  readonly group: string;
  readonly asks: boolean;
  readonly act: () => void;
}

interface CommandListProps {
  readonly userId: string;
  readonly commands: UseQueryResult<readonly Command[]>;
  readonly onChoose: (command: Command) => void;
  readonly onClose: () => void;
}

/** A combobox after the ARIA pattern: the focus stays in the box, the arrows move the choice. */
export function CommandList({ userId, commands, onChoose, onClose }: CommandListProps): ReactNode {
  const { words: t, language } = useLanguage();
  const router = useRouter();
  const id = useId();
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const box = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.focus(), []);

  const offers = useMemo((): readonly Offer[] => {
    const actions = (commands.data ?? []).map((command): Offer => {
      const text = capabilityText(language, command.id, command);
      return {
        id: command.id,
        names: searchNames(command.id, command),
        ...text,
        icon: commandIcon(command.icon),
        group:
          command.group !== ""
            ? command.group
            : packageText(language, command.package, { title: capitalised(command.package), description: "" })
                .title,
        asks: command.destructive,
        act: () => onChoose(command),
      };
    });
    const ways = DESTINATIONS.map((place): Offer => ({
      id: place.id,
      names: [place.title(en), place.title(zh), place.to],
      title: place.title(t),
      description: "",
      icon: place.icon,
      group: t.palette.goTo,
      asks: false,
      act: () => {
        remember(userId, place.id);
        onClose();
        void router.navigate({ to: place.to });
      },
    }));
    return [...actions, ...ways];
  }, [commands.data, language, t, onChoose, onClose, router, userId]);

  const groups = useMemo(() => {
    const found = search(query, offers);
    if (query.trim() !== "") return found.length === 0 ? [] : [{ name: "", offers: found }];
    const last = recent(userId).flatMap((known) => found.find((offer) => offer.id === known) ?? []);
    const names = [...new Set(found.map((offer) => offer.group))];
    return [
      ...(last.length === 0 ? [] : [{ name: t.palette.recent, offers: last }]),
      ...names.map((name) => ({
        name,
        offers: found.filter((offer) => offer.group === name && !last.includes(offer)),
      })),
    ].filter((group) => group.offers.length > 0);
  }, [query, offers, userId, t]);
  const flat = groups.flatMap((group) => group.offers);
  const current = flat[Math.min(at, flat.length - 1)];
  const optionId = (offer: Offer): string => `${id}-${offer.id}`;

  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [current?.id]);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing || flat.length === 0) return;
    const last = flat.length - 1;
    const here = Math.min(at, last);
    const moves: Record<string, number> = {
      ArrowDown: here === last ? 0 : here + 1,
      ArrowUp: here === 0 ? last : here - 1,
      PageDown: Math.min(last, here + 6),
      PageUp: Math.max(0, here - 6),
    };
    const to = moves[event.key];
    if (to !== undefined) {
      event.preventDefault();
      setAt(to);
    } else if (event.key === "Enter") {
      event.preventDefault();
      current?.act();
    }
  };

  return (
    <>
      <div className={styles["search"]}>
        <Icon name="search" />
        <input
          ref={box}
          type="text"
          role="combobox"
          aria-label={t.palette.placeholder}
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={current === undefined ? undefined : optionId(current)}
          aria-autocomplete="list"
          autoComplete="off"
          spellCheck={false}
          placeholder={t.palette.placeholder}
          value={query}
          onChange={(event) => {
            setQuery(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
        <IconButton icon="close" label={t.common.close} onClick={onClose} />
      </div>
      {/* The box owns the keyboard; this only keeps a click from taking the focus out of it. */}
      <div
        ref={list}
        id={`${id}-list`}
        role="listbox"
        tabIndex={-1}
        aria-label={t.palette.list}
        className={styles["list"]}
      >
        {groups.map((group) => (
          <div
            key={group.name}
            role="group"
            aria-label={group.name === "" ? t.palette.list : group.name}
            className={styles["group"]}
          >
            {group.name !== "" && (
              <div className={styles["groupName"]} aria-hidden="true">
                {group.name}
              </div>
            )}
            {group.offers.map((offer) => (
              // The keyboard chooses from the box above.
              // eslint-disable-next-line jsx-a11y/click-events-have-key-events
              <div
                key={offer.id}
                id={optionId(offer)}
                role="option"
                tabIndex={-1}
                aria-selected={offer === current}
                className={styles["option"]}
                onClick={offer.act}
                onPointerMove={() => {
                  const index = flat.indexOf(offer);
                  if (index !== at) setAt(index);
                }}
              >
                <Icon name={offer.icon} />
                <span className={styles["optionText"]}>
                  <span className={styles["optionTitle"]}>{offer.title}</span>
                  {offer.description !== "" && (
                    <span className={styles["optionDescription"]}>{offer.description}</span>
                  )}
                </span>
                {offer.asks && <span className={styles["asks"]}>{t.palette.asks}</span>}
              </div>
            ))}
          </div>
        ))}
      </div>
      {commands.isPending && (
        <div className={styles["state"]}>
          <Skeleton rows={3} />
        </div>
      )}
      {commands.isError && (
        <div className={styles["state"]}>
          <ErrorNotice error={commands.error} onRetry={() => void commands.refetch()} />
        </div>
      )}
      {flat.length === 0 && !commands.isPending && (
        <div className={styles["nothing"]} role="status">
          <p>{t.palette.nothing}</p>
          <p>{t.palette.nothingHint}</p>
        </div>
      )}
      <footer className={styles["keys"]} aria-hidden="true">
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> {t.palette.move}
        </span>
        <span>
          <kbd>↵</kbd> {t.palette.hint}
        </span>
        <span>
          <kbd>{PALETTE_KEYS}</kbd>
        </span>
      </footer>
    </>
  );
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1).replaceAll("_", " ");
}
