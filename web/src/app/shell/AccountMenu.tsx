import { useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { meQuery, signOut } from "~/api/me";
import { useLanguage } from "~/i18n/language";
import { useTheme } from "~/theme/theme";
import { IconButton } from "~/ui/Button";
import styles from "./Sidebar.module.css";

const NEXT_THEME = { system: "light", light: "dark", dark: "system" } as const;

/** Who is signed in, with the three switches that people look for everywhere. */
export function AccountMenu(): ReactNode {
  const { words: t, language, choose } = useLanguage();
  const theme = useTheme();
  const { data: me } = useSuspenseQuery(meQuery);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const themeName = { system: t.common.themeSystem, light: t.common.themeLight, dark: t.common.themeDark }[
    theme.choice
  ];

  return (
    <div className={styles["account"]}>
      <span className={styles["email"]} title={me.user.email}>
        {me.user.email}
      </span>
      <button
        type="button"
        className={styles["switch"]}
        lang={language === "zh" ? "en" : "zh-CN"}
        aria-label={language === "zh" ? "Switch to English" : "切换到中文"}
        onClick={() => choose(language === "zh" ? "en" : "zh")}
      >
        {language === "zh" ? "EN" : "中"}
      </button>
      <IconButton
        icon={theme.choice === "dark" ? "moon" : theme.choice === "light" ? "sun" : "contrast"}
        label={`${t.common.theme}: ${themeName}`}
        onClick={() => theme.choose(NEXT_THEME[theme.choice])}
      />
      <IconButton
        icon="signOut"
        label={t.common.signOut}
        onClick={() => {
          void signOut().finally(() => {
            queries.clear();
            void navigate({ to: "/signin" });
          });
        }}
      />
    </div>
  );
}
