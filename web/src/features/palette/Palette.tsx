import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { commandsQuery, type Command } from "~/api/commands";
import { meQuery } from "~/api/me";
import { useWords } from "~/i18n/language";
import { CommandForm } from "./CommandForm";
import { CommandList } from "./CommandList";
import styles from "./Palette.module.css";
import { remember } from "./recent";

/** Everything a user can do, by name: a list to search, then the form of what was chosen. */
export function Palette({ onClose }: { readonly onClose: () => void }): ReactNode {
  const t = useWords();
  const { data: me } = useSuspenseQuery(meQuery);
  const commands = useQuery(commandsQuery);
  const [chosen, setChosen] = useState<Command | null>(null);
  const element = useRef<HTMLDialogElement>(null);

  useEffect(() => {
    const dialog = element.current;
    if (dialog?.open === false) dialog.showModal();
    return () => dialog?.close();
  }, []);

  return (
    // The click on the backdrop is a second way; Escape is the keyboard's.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions
    <dialog
      ref={element}
      data-palette
      aria-label={t.palette.title}
      className={styles["dialog"]}
      onCancel={(event) => {
        event.preventDefault();
        if (chosen === null) onClose();
        else setChosen(null);
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <div className={styles["panel"]}>
        {chosen === null ? (
          <CommandList
            userId={me.user.id}
            commands={commands}
            onChoose={(command) => {
              remember(me.user.id, command.id);
              setChosen(command);
            }}
            onClose={onClose}
          />
        ) : (
          <CommandForm
            key={chosen.id}
            userId={me.user.id}
            command={chosen}
            onBack={() => setChosen(null)}
            onClose={onClose}
          />
        )}
      </div>
    </dialog>
  );
}
