import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { devicesQuery, endDevice, signOutEverywhere, type Device } from "~/api/account";
import { useLanguage } from "~/i18n/language";
import { ago, dayAndTime } from "~/lib/dates";
import { Button } from "~/ui/Button";
import { ConfirmDialog } from "~/ui/Dialog";
import { ErrorNotice } from "~/ui/ErrorNotice";
import { Icon } from "~/ui/Icon";
import { Skeleton } from "~/ui/Skeleton";
import { Section } from "./Section";
import styles from "./Settings.module.css";
import { readAgent } from "./userAgent";

export function DevicesSection(): ReactNode {
  const { words: t } = useLanguage();
  const queries = useQueryClient();
  const router = useRouter();
  const devices = useQuery(devicesQuery);
  const [asking, setAsking] = useState(false);
  const everywhere = useMutation({
    mutationFn: signOutEverywhere,
    onSuccess: async () => {
      await router.navigate({ to: "/signin" });
      queries.clear();
    },
  });
  return (
    <Section
      title={t.settings.devices}
      lead={t.settings.devicesLead}
      action={
        <Button icon="signOut" onClick={() => setAsking(true)}>
          {t.settings.signOutEverywhere}
        </Button>
      }
    >
      {devices.isPending ? (
        <Skeleton rows={2} />
      ) : devices.isError ? (
        <ErrorNotice error={devices.error} onRetry={() => void devices.refetch()} />
      ) : (
        <ul className={styles["list"]}>
          {devices.data.map((device) => (
            <DeviceRow key={device.id} device={device} />
          ))}
        </ul>
      )}
      {asking && (
        <ConfirmDialog
          title={t.settings.signOutEverywhere}
          confirmLabel={t.settings.signOutEverywhere}
          busy={everywhere.isPending}
          onConfirm={() => everywhere.mutate()}
          onClose={() => setAsking(false)}
        >
          <p>{t.settings.signOutEverywhereText}</p>
          {everywhere.error !== null && <ErrorNotice error={everywhere.error} />}
        </ConfirmDialog>
      )}
    </Section>
  );
}

function DeviceRow({ device }: { readonly device: Device }): ReactNode {
  const { words: t, tag } = useLanguage();
  const queries = useQueryClient();
  const agent = readAgent(device.user_agent);
  const name =
    [agent.browser, agent.system].filter((part) => part !== "").join(" · ") || t.settings.unknownDevice;
  const end = useMutation({
    mutationFn: () => endDevice(device.id),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["devices"] }),
  });
  return (
    <li className={styles["row"]}>
      <Icon name={agent.icon} size={22} />
      <div className={styles["rowText"]}>
        <p className={styles["rowTitle"]}>
          {name}
          {device.current && <span className={styles["badge"]}>{t.settings.thisDevice}</span>}
        </p>
        <p className={styles["rowNote"]}>
          {device.current ? t.settings.activeNow : t.settings.lastSeen(ago(tag, device.last_seen_at))}
          {device.address !== "" && ` · ${device.address}`}
        </p>
        <p className={styles["rowNote"]}>{t.settings.signedIn(dayAndTime(tag, device.created_at))}</p>
        {end.error !== null && <ErrorNotice error={end.error} />}
      </div>
      {!device.current && (
        <Button
          small
          disabled={end.isPending}
          aria-label={t.settings.endDeviceOf(name)}
          onClick={() => end.mutate()}
        >
          {t.settings.endDevice}
        </Button>
      )}
    </li>
  );
}
