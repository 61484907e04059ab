import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, type ReactNode } from "react";
import { commandsQuery } from "~/api/commands";
import { packagesQuery, switchPackage, type Package } from "~/api/packages";
import { capabilityText, packageText } from "~/i18n/capabilities";
import { useLanguage } from "~/i18n/language";
import { cx } from "~/ui/cx";
import { EmptyState } from "~/ui/EmptyState";
import { ErrorNotice } from "~/ui/ErrorNotice";
import { Switch } from "~/ui/form/controls";
import { Skeleton } from "~/ui/Skeleton";
import { Section } from "./Section";
import styles from "./Settings.module.css";

export function PackagesSection(): ReactNode {
  const { words: t } = useLanguage();
  const packages = useQuery(packagesQuery);
  return (
    <Section title={t.settings.packages} lead={t.settings.packagesLead}>
      {packages.isPending ? (
        <Skeleton rows={4} />
      ) : packages.isError ? (
        <ErrorNotice error={packages.error} onRetry={() => void packages.refetch()} />
      ) : packages.data.length === 0 ? (
        <EmptyState icon="package" title={t.settings.noPackages} />
      ) : (
        <ul className={styles["list"]}>
          {packages.data.map((item) => (
            <PackageRow key={item.id} item={item} />
          ))}
        </ul>
      )}
    </Section>
  );
}

/** Statuses in which there is nothing to report. */
const HEALTHY = new Set(["ok", "ready", "active", "enabled", "disabled", "loaded", "available"]);

function PackageRow({ item }: { readonly item: Package }): ReactNode {
  const { words: t, language } = useLanguage();
  const queries = useQueryClient();
  const commands = useQuery(commandsQuery);
  const text = packageText(language, item.id, item);
  const change = useMutation({
    mutationFn: (enabled: boolean) => switchPackage(item.id, enabled),
    onSuccess: async (changed) => {
      queries.setQueryData(packagesQuery.queryKey, (all) =>
        all?.map((other) => (other.id === changed.id ? changed : other)),
      );
      await queries.invalidateQueries({ queryKey: ["commands"] });
    },
  });
  const holds = useMemo(
    () =>
      (commands.data ?? [])
        .filter((command) => command.package === item.id)
        .map((command) => capabilityText(language, command.id, command).title),
    [commands.data, item.id, language],
  );
  const enabled = change.isPending ? change.variables : item.enabled;
  const ailing = !HEALTHY.has(item.status.toLowerCase());
  return (
    <li className={styles["row"]}>
      <div className={styles["rowText"]}>
        <p className={styles["rowTitle"]}>
          {text.title}
          {ailing && <span className={cx(styles["badge"], styles["warn"])}>{item.status}</span>}
        </p>
        <p id={`package-${item.id}`} className={styles["rowNote"]}>
          {text.description}
        </p>
        {holds.length > 0 && <p className={styles["rowNote"]}>{t.settings.holds(holds)}</p>}
        {change.error !== null && <ErrorNotice error={change.error} />}
      </div>
      <Switch
        label={text.title}
        describedBy={`package-${item.id}`}
        checked={enabled}
        disabled={change.isPending}
        onChange={(next) => change.mutate(next)}
      />
    </li>
  );
}
