import type { ReactNode } from "react";
import { useLanguage, type LanguageChoice } from "~/i18n/language";
import { useTheme, type ThemeChoice } from "~/theme/theme";
import { ChoiceField } from "~/ui/form/controls";
import { Section } from "./Section";

const NAMES = { zh: "中文", en: "English" } as const;

export function AppearanceSection(): ReactNode {
  const { words: t, choice: language, choose: chooseLanguage } = useLanguage();
  const { choice: theme, choose: chooseTheme } = useTheme();
  return (
    <Section title={t.settings.appearance} lead={t.settings.appearanceLead}>
      <ChoiceField<LanguageChoice>
        legend={t.common.language}
        value={language}
        options={[
          { value: "system", label: t.common.themeSystem },
          { value: "zh", label: NAMES.zh },
          { value: "en", label: NAMES.en },
        ]}
        langOf={(value) => (value === "zh" ? "zh-CN" : value === "en" ? "en" : undefined)}
        onChange={chooseLanguage}
      />
      <ChoiceField<ThemeChoice>
        legend={t.common.theme}
        value={theme}
        options={[
          { value: "system", label: t.common.themeSystem, icon: "contrast" },
          { value: "light", label: t.common.themeLight, icon: "sun" },
          { value: "dark", label: t.common.themeDark, icon: "moon" },
        ]}
        onChange={chooseTheme}
      />
    </Section>
  );
}
