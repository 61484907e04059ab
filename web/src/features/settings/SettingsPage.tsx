import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useWords } from "~/i18n/language";
import { Icon, type IconName } from "~/ui/Icon";
import { PageBody } from "~/ui/PageBody";
import { NotFoundPage } from "~/ui/pages/NotFoundPage";
import { AccountSection } from "./AccountSection";
import { AppearanceSection } from "./AppearanceSection";
import { DevicesSection } from "./DevicesSection";
import { PackagesSection } from "./PackagesSection";
import styles from "./Settings.module.css";
import { TokensSection } from "./TokensSection";

const SECTIONS = ["account", "appearance", "packages", "devices", "tokens"] as const;
type SectionId = (typeof SECTIONS)[number];

const ICONS: Record<SectionId, IconName> = {
  account: "user",
  appearance: "contrast",
  packages: "package",
  devices: "laptop",
  tokens: "key",
};
const CONTENT: Record<SectionId, () => ReactNode> = {
  account: AccountSection,
  appearance: AppearanceSection,
  packages: PackagesSection,
  devices: DevicesSection,
  tokens: TokensSection,
};

export function SettingsPage(): ReactNode {
  const t = useWords();
  const { section: wanted } = useParams({ strict: false });
  const section = SECTIONS.find((id) => id === (wanted ?? "account"));
  if (section === undefined) return <NotFoundPage />;
  const Content = CONTENT[section];
  return (
    <PageBody title={t.common.settings} wide>
      <div className={styles["layout"]}>
        <nav aria-label={t.settings.sections} className={styles["nav"]}>
          {SECTIONS.map((id) => (
            <Link
              key={id}
              to="/settings/$section"
              params={{ section: id }}
              replace
              aria-current={id === section ? "page" : undefined}
              className={styles["navLink"]}
            >
              <Icon name={ICONS[id]} size={17} />
              {t.settings[id]}
            </Link>
          ))}
        </nav>
        <div className={styles["content"]}>
          <Content key={section} />
        </div>
      </div>
    </PageBody>
  );
}
